// SPDX-License-Identifier: Apache-2.0
// An answer over HTTP; and the reasons for errors, as one table from the reason to the HTTP status,
// its meaning, its names for clients of text-embeddings-inference (TEI) and OpenAI, and its label
// in metrics.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"

namespace simile {

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// What each means: RefusalRow::meaning.
enum class Refusal {
  kMalformed,
  kEmpty,
  kInvalid,
  kTooManyInputs,
  kNoKey,
  kForbidden,
  kUnknownRoute,
  kUnknownModel,
  kNotFound,
  kWrongMethod,
  kTooLarge,
  kTargetTooLong,
  kHeadersTooLarge,
  kExpects,
  kTooSlow,
  kWrongType,
  kModelCannot,
  kBackend,
  kOverloaded,
  kLate,
  kLeft,
  kUnready,
  kInternal,
};

struct RefusalRow {
  Refusal refusal;
  int status;
  const char* type;         // error_type of TEI
  int openai_status;        // where OpenAI's API has another one
  const char* openai_type;  // error.type of OpenAI
  const char* openai_code;  // error.code; empty: null
  const char* counted_as;   // label err of te_request_failure
  const char* meaning;      // for documentation
};

std::vector<RefusalRow> refusal_rows();

const RefusalRow& refusal_row(Refusal refusal);

class RequestError : public Error {
 public:
  // `param`: the member of the body that is wrong, if it is one. `retry_seconds`: when to try
  // again, if that helps.
  RequestError(Refusal refusal, const std::string& message, const std::string& param = "",
               int retry_seconds = 0);
  Refusal refusal() const { return refusal_; }
  // All of it: what() ends at a zero byte, which an id may have.
  const std::string& message() const { return message_; }
  const std::string& param() const { return param_; }
  int retry_seconds() const { return retry_seconds_; }

 private:
  Refusal refusal_;
  std::string message_, param_;
  int retry_seconds_;
};

// Throws a RequestError, made of the other arguments, when a condition about the request does not
// hold.
#define SIMILE_REQUEST_CHECK(condition, ...)                     \
  do {                                                           \
    if (!(condition)) throw ::simile::RequestError(__VA_ARGS__); \
  } while (false)

enum class ErrorStyle { kTei, kOpenAi };

int error_status(ErrorStyle style, const RequestError& error);
// {"error": text, "error_type": name}, or {"error": {"message", "type", "param", "code"}}.
std::string error_body(ErrorStyle style, const RequestError& error);
// The JSON schema of such bodies.
std::string error_schema(ErrorStyle style);

}  // namespace simile
