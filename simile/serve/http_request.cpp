// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/http_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

constexpr size_t kLengthDigits = 15;  // of a Content-Length that we look at
constexpr size_t kLongestPath = 500;

size_t count_headers(const httplib::Request& request, const char* name) {
  return request.get_header_value_count(name);
}

// Two readings of where a request ends would let one hide in another.
void check_framing(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  const bool clear =
      count_headers(request, "Content-Length") <= 1 &&
      length.find_first_not_of("0123456789") == std::string::npos &&
      length.size() <= kLengthDigits && count_headers(request, "Transfer-Encoding") <= 1 &&
      (!is_chunked(request) ||
       (length.empty() && request.get_header_value("Transfer-Encoding") == "chunked"));
  if (!clear) {
    throw RequestError(Refusal::kMalformed,
                       "Content-Length and Transfer-Encoding do not say where the body ends");
  }
}

}  // namespace

bool is_chunked(const httplib::Request& request) {
  return count_headers(request, "Transfer-Encoding") > 0;
}

size_t content_length(const httplib::Request& request) {
  const std::string digits = request.get_header_value("Content-Length");
  if (digits.size() > kLengthDigits) return 0;  // check_framing() refuses it
  return std::strtoull(digits.c_str(), nullptr, 10);
}

bool has_body(const httplib::Request& request) {
  return is_chunked(request) || content_length(request) > 0;
}

void check_request(const httplib::Request& request) {
  static const std::vector<std::string> methods = {"GET",   "HEAD",   "POST",   "PUT",
                                                   "PATCH", "DELETE", "OPTIONS"};
  check_framing(request);
  if (std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    throw RequestError(Refusal::kWrongMethod, "there is no route for " + request.method);
  }
  if (request.path.size() > kLongestPath) {  // httplib matches it by recursion
    throw RequestError(Refusal::kUnknownRoute, "there is no route of so long a name");
  }
}

void check_body(const httplib::Request& request, int64_t most_bytes) {
  if (request.has_header("Content-Encoding") || request.is_multipart_form_data()) {
    throw RequestError(Refusal::kWrongType,
                       "send the body as it is: application/json, not compressed, in one part");
  }
  if (content_length(request) > static_cast<size_t>(most_bytes)) {
    throw RequestError(Refusal::kTooLarge, fmt::format("the body has {} bytes; it may have {}",
                                                       content_length(request), most_bytes));
  }
}

std::string read_body(const httplib::ContentReader& reader, int64_t most_bytes) {
  std::string body;
  bool too_large = false;
  const bool complete = reader([&](const char* bytes, size_t count) {
    too_large = body.size() + count > static_cast<size_t>(most_bytes);
    if (!too_large) body.append(bytes, count);
    return !too_large;
  });
  if (too_large) {
    throw RequestError(Refusal::kTooLarge,
                       fmt::format("the body has more than {} bytes", most_bytes));
  }
  if (!complete) throw RequestError(Refusal::kMalformed, "the body is not complete");
  return body;
}

}  // namespace simile::detail
