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

}  // namespace

bool is_chunked(const httplib::Request& request) { return request.has_header("Transfer-Encoding"); }

size_t content_length(const httplib::Request& request) {
  const std::string digits = request.get_header_value("Content-Length");
  if (digits.size() > kLengthDigits) return 0;  // check_request() refuses it
  return std::strtoull(digits.c_str(), nullptr, 10);
}

bool has_body(const httplib::Request& request) {
  return is_chunked(request) || content_length(request) > 0;
}

void check_request(const httplib::Request& request) {
  static const std::vector<std::string> methods = {"GET",   "HEAD",   "POST",   "PUT",
                                                   "PATCH", "DELETE", "OPTIONS"};
  // Two readings of where a request ends would let one hide in another.
  const std::string length = request.get_header_value("Content-Length");
  const bool is_clear =
      request.get_header_value_count("Content-Length") <= 1 &&
      length.find_first_not_of("0123456789") == std::string::npos &&
      length.size() <= kLengthDigits && request.get_header_value_count("Transfer-Encoding") <= 1 &&
      (!is_chunked(request) ||
       (length.empty() && request.get_header_value("Transfer-Encoding") == "chunked"));
  SIMILE_REQUEST_CHECK(is_clear, Refusal::kMalformed,
                       "Content-Length and Transfer-Encoding do not say where the body ends");
  SIMILE_REQUEST_CHECK(std::find(methods.begin(), methods.end(), request.method) != methods.end(),
                       Refusal::kWrongMethod, "there is no route for " + request.method);
  // httplib matches it by recursion.
  SIMILE_REQUEST_CHECK(request.path.size() <= kLongestPath, Refusal::kUnknownRoute,
                       "there is no route of so long a name");
}

void check_body(const httplib::Request& request, int64_t most_bytes) {
  SIMILE_REQUEST_CHECK(!request.has_header("Content-Encoding") && !request.is_multipart_form_data(),
                       Refusal::kWrongType,
                       "send the body as it is: application/json, not compressed, in one part");
  SIMILE_REQUEST_CHECK(
      content_length(request) <= static_cast<size_t>(most_bytes), Refusal::kTooLarge,
      fmt::format("the body has {} bytes; it may have {}", content_length(request), most_bytes));
}

std::string read_body(const httplib::ContentReader& reader, int64_t most_bytes) {
  std::string body;
  bool too_large = false;
  const bool complete = reader([&](const char* bytes, size_t count) {
    too_large = body.size() + count > static_cast<size_t>(most_bytes);
    if (!too_large) body.append(bytes, count);
    return !too_large;
  });
  SIMILE_REQUEST_CHECK(!too_large, Refusal::kTooLarge,
                       fmt::format("the body has more than {} bytes", most_bytes));
  SIMILE_REQUEST_CHECK(complete, Refusal::kMalformed, "the body is not complete");
  return body;
}

}  // namespace simile::detail
