// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/request_error.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace simile {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kBadRequest = "invalid_request_error";
constexpr const char* kServerError = "server_error";

constexpr RefusalRow kRefusals[] = {
    {Refusal::kMalformed, 400, "Validation", 400, kBadRequest, "", "validation"},
    {Refusal::kEmpty, 400, "Empty", 400, kBadRequest, "", "validation"},
    {Refusal::kInvalid, 422, "Validation", 400, kBadRequest, "", "validation"},
    {Refusal::kTooManyInputs, 422, "Validation", 400, kBadRequest, "", "batch_size"},
    {Refusal::kNoKey, 401, "Unauthorized", 401, kBadRequest, "invalid_api_key", "validation"},
    {Refusal::kForbidden, 403, "Forbidden", 403, kBadRequest, "forbidden", "validation"},
    {Refusal::kUnknownRoute, 404, "NotFound", 404, kBadRequest, "unknown_url", "validation"},
    {Refusal::kUnknownModel, 404, "NotFound", 404, kBadRequest, "model_not_found", "validation"},
    {Refusal::kNotFound, 404, "NotFound", 404, kBadRequest, "not_found", "validation"},
    {Refusal::kWrongMethod, 405, "MethodNotAllowed", 405, kBadRequest, "", "validation"},
    {Refusal::kTooLarge, 413, "Validation", 413, kBadRequest, "", "validation"},
    {Refusal::kWrongType, 415, "Validation", 415, kBadRequest, "", "validation"},
    {Refusal::kModelCannot, 424, "Backend", 400, kBadRequest, "", "model_type"},
    {Refusal::kBackend, 424, "Backend", 500, kServerError, "", "inference"},
    {Refusal::kOverloaded, 429, "Overloaded", 429, "rate_limit_error", "rate_limit_exceeded",
     "overloaded"},
    {Refusal::kLate, 503, "Overloaded", 503, kServerError, "", "dropped"},
    {Refusal::kLeft, 499, "Dropped", 499, kServerError, "", "dropped"},
    {Refusal::kStopping, 503, "Unhealthy", 503, kServerError, "", "dropped"},
    {Refusal::kInternal, 500, "Backend", 500, kServerError, "", "inference"},
};

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

}  // namespace

const RefusalRow& refusal_row(Refusal refusal) {
  const auto* row =
      std::find_if(std::begin(kRefusals), std::end(kRefusals),
                   [refusal](const RefusalRow& other) { return other.refusal == refusal; });
  assert(row != std::end(kRefusals));
  return *row;
}

RequestError::RequestError(Refusal refusal, const std::string& message, std::string param,
                           int retry_seconds)
    : Error(ErrorKind::kFailed, message),
      refusal_(refusal),
      message_(message),
      param_(std::move(param)),
      retry_seconds_(retry_seconds) {}

int error_status(ErrorStyle style, const RequestError& error) {
  const RefusalRow& row = refusal_row(error.refusal());
  return style == ErrorStyle::kOpenAi ? row.openai_status : row.status;
}

std::string error_body(ErrorStyle style, const RequestError& error) {
  const RefusalRow& row = refusal_row(error.refusal());
  OrderedJson body;
  if (style == ErrorStyle::kTei) {
    body = {{"error", error.message()}, {"error_type", row.type}};
  } else {
    body["error"] = {{"message", error.message()},
                     {"type", row.openai_type},
                     {"param", text_or_null(error.param())},
                     {"code", text_or_null(row.openai_code)}};
  }
  return body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace simile
