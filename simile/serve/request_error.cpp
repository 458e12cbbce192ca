// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/request_error.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>

#include "simile/core/options.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

struct TeiError {
  std::string error, error_type;
  void visit(OptionVisitor& v) {
    v.required("error", error, "What is wrong");
    v.required("error_type", error_type);
  }
};

struct OpenAiError {
  struct Details {
    std::string message, type;
    std::optional<std::string> param, code;
    void visit(OptionVisitor& v) {
      v.required("message", message, "What is wrong");
      v.required("type", type);
      v.field("param", param, OptionInfo{"The key of the body that is wrong"}.nullable());
      v.field("code", code, OptionInfo{""}.nullable());
    }
  };
  Details error;
  void visit(OptionVisitor& v) { v.required("error", error); }
};

constexpr size_t kLongestMessage = 400, kKeptEnd = 150;

constexpr const char* kBadRequest = "invalid_request_error";
constexpr const char* kServerError = "server_error";

constexpr RefusalRow kRefusals[] = {
    {Refusal::kMalformed, 400, "Validation", 400, kBadRequest, "", "validation",
     "the body is no JSON object"},
    {Refusal::kEmpty, 400, "Empty", 400, kBadRequest, "", "validation",
     "there is no text, or an empty one"},
    {Refusal::kInvalid, 422, "Validation", 400, kBadRequest, "", "validation",
     "a key is missing, or its value cannot be used"},
    {Refusal::kTooManyInputs, 422, "Validation", 400, kBadRequest, "", "batch_size",
     "more texts than `--request-texts`, or to `/v1/embeddings` and `/documents` than "
     "`--bulk-texts`"},
    {Refusal::kNoKey, 401, "Unauthorized", 401, kBadRequest, "invalid_api_key", "validation",
     "no API key, or an unknown one"},
    {Refusal::kForbidden, 403, "Forbidden", 403, kBadRequest, "forbidden", "validation",
     "`Host` or `Origin` is another's (see `--allow-host`), a change without `--allow-changes`, or "
     "the key lacks the role"},
    {Refusal::kUnknownRoute, 404, "NotFound", 404, kBadRequest, "unknown_url", "validation",
     "there is no such route"},
    {Refusal::kUnknownModel, 404, "NotFound", 404, kBadRequest, "model_not_found", "validation",
     "`model` is not the name of the model served"},
    {Refusal::kNotFound, 404, "NotFound", 404, kBadRequest, "not_found", "validation",
     "the index has no such document, none of those to delete, or `--runs` has no such run"},
    {Refusal::kWrongMethod, 405, "MethodNotAllowed", 405, kBadRequest, "", "validation",
     "the route takes another method"},
    {Refusal::kTooLarge, 413, "Validation", 413, kBadRequest, "", "validation",
     "the body is larger than `--body-bytes`, or the hits than `--answer-bytes`"},
    {Refusal::kTargetTooLong, 414, "Validation", 414, kBadRequest, "", "validation",
     "the address is longer than 8,000 bytes"},
    {Refusal::kHeadersTooLarge, 431, "Validation", 431, kBadRequest, "", "validation",
     "the headers are larger than `--header-bytes`"},
    {Refusal::kExpects, 417, "Validation", 417, kBadRequest, "", "validation",
     "`Expect` is not `100-continue`"},
    {Refusal::kTooSlow, 408, "Validation", 408, kBadRequest, "", "validation",
     "the request did not arrive within `--header-seconds` and `--request-seconds`"},
    {Refusal::kWrongType, 415, "Validation", 415, kBadRequest, "", "validation",
     "the body is not sent as `application/json`"},
    {Refusal::kModelCannot, 424, "Backend", 400, kBadRequest, "", "model_type",
     "the model cannot do it, or there is no index or folder of runs"},
    {Refusal::kBackend, 424, "Backend", 500, kServerError, "", "inference", "computing failed"},
    {Refusal::kOverloaded, 429, "Overloaded", 429, "rate_limit_error", "rate_limit_exceeded",
     "overloaded",
     "the queue is full, there are too many requests or connections, or the key has used up its "
     "minute"},
    {Refusal::kLate, 503, "Overloaded", 503, kServerError, "", "dropped",
     "not computed within `--request-seconds`"},
    {Refusal::kLeft, 499, "Dropped", 499, kServerError, "", "dropped",
     "the client closed its connection before its turn came; it is not computed"},
    {Refusal::kUnready, 503, "Unhealthy", 503, kServerError, "", "dropped",
     "the server is loading or stopping; `/ready` also: it cannot read its index"},
    {Refusal::kInternal, 500, "Backend", 500, kServerError, "", "inference", "internal error"},
};

// Many messages contain a client's text; a long message keeps its beginning and end.
std::string shortened(const std::string& message) {
  if (message.size() <= kLongestMessage) return message;
  size_t tail = message.size() - kKeptEnd;
  while (tail < message.size() && (message[tail] & 0xC0) == 0x80) ++tail;
  return begin_of_text(message, kLongestMessage - kKeptEnd) + " ... " + message.substr(tail);
}

std::optional<std::string> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

std::vector<RefusalRow> refusal_rows() { return {std::begin(kRefusals), std::end(kRefusals)}; }

const RefusalRow& refusal_row(Refusal refusal) {
  const auto* row =
      std::find_if(std::begin(kRefusals), std::end(kRefusals),
                   [refusal](const RefusalRow& other) { return other.refusal == refusal; });
  assert(row != std::end(kRefusals));
  return *row;
}

RequestError::RequestError(Refusal refusal, const std::string& message, const std::string& param,
                           int retry_seconds)
    : Error(ErrorKind::kFailed, shortened(message)),
      refusal_(refusal),
      message_(shortened(message)),
      param_(shortened(param)),
      retry_seconds_(retry_seconds) {}

int error_status(ErrorStyle style, const RequestError& error) {
  const RefusalRow& row = refusal_row(error.refusal());
  return style == ErrorStyle::kOpenAi ? row.openai_status : row.status;
}

std::string error_body(ErrorStyle style, const RequestError& error) {
  const RefusalRow& row = refusal_row(error.refusal());
  if (style == ErrorStyle::kTei) return options_to_json(TeiError{error.message(), row.type}, -1);
  OpenAiError body;
  body.error = {error.message(), row.openai_type, text_or_none(error.param()),
                text_or_none(row.openai_code)};
  return options_to_json(body, -1);
}

std::string error_schema(ErrorStyle style) {
  return style == ErrorStyle::kTei ? options_to_schema<TeiError>()
                                   : options_to_schema<OpenAiError>();
}

}  // namespace simile
