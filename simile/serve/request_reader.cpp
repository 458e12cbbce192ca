// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/request_reader.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "simile/serve/request_error.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

namespace http = boost::beast::http;

constexpr size_t kLongestTarget = 8000;  // which RFC 9112 asks servers to take
constexpr size_t kMostLine = 4096;       // a chunk's line with its extensions; all trailers
constexpr size_t kLinesOfByte = 16;      // of all, for each byte of the body

constexpr std::string_view kOfNames =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=";
constexpr const char* kNoRequest = "this is no HTTP request that can be read";
constexpr const char* kLongTarget = "the address has more than 8000 bytes";
constexpr const char* kUnclearLength =
    "Content-Length and Transfer-Encoding do not say where the body ends";

// RFC 9112 3.2: an address in brackets or a name, and a port.
bool is_host(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == host.npos;
  const std::string_view name = host.substr(0, has_port ? colon : host.size());
  const std::string_view port = host.substr(name.size() + (has_port ? 1 : 0));
  if (port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (name.empty() || name[0] != '[') return name.find_first_not_of(kOfNames) == name.npos;
  in6_addr address = {};
  const std::string inside(name.substr(1, name.size() - 2));
  return name.back() == ']' && inet_pton(AF_INET6, inside.c_str(), &address) == 1;
}

// A line that continues the one before, which is obsolete, or one that ends in LF alone.
bool has_bad_line(std::string_view head) {
  for (size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    const char next = at + 1 < head.size() ? head[at + 1] : '\r';
    if (at == 0 || head[at - 1] != '\r' || next == ' ' || next == '\t') return true;
  }
  return false;
}

// "%41" as "A", and with `plus` a '+' as a space.
std::string decode_percent(std::string_view text, bool plus) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string digits(text.substr(i + 1, 2));
    SIMILE_REQUEST_CHECK(
        digits.size() == 2 && digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos,
        Refusal::kMalformed, "the address has a % without two hexadecimal digits; write it as %25");
    decoded += static_cast<char>(std::stoi(digits, nullptr, 16));
    i += 2;
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::string_view name = pair.substr(0, pair.find('='));
    const std::string_view value = pair.substr(std::min(pair.size(), name.size() + 1));
    if (!pair.empty()) query.emplace_back(decode_percent(name, true), decode_percent(value, true));
  }
  return query;
}

}  // namespace

RequestReader::RequestReader(const ServeLimits& limits) : limits_(limits) {
  parser_.header_limit(std::numeric_limits<std::uint32_t>::max());  // ours is below
  parser_.body_limit(std::numeric_limits<std::uint64_t>::max());    // until take_body()
}

void RequestReader::take_body() {
  takes_body_ = true;
  parser_.body_limit(static_cast<std::uint64_t>(limits_.body_bytes));
  parser_.eager(true);
}

size_t RequestReader::take(std::string_view bytes) {
  // Beast asserts that an empty body's "0\r\n\r\n" comes in one piece.
  const bool may_end = bytes.size() < 5 && bytes.substr(0, 1) == "0";
  if (may_end && has_head() && call.is_chunked && !is_whole()) return 0;
  size_t taken = 0;
  if (!parser_.got_some() && !skipped_line_ && !bytes.empty() && bytes[0] == '\r') {
    if (bytes.size() == 1) return 0;
    skipped_line_ = true;  // an empty one before the request
    if (bytes[1] == '\n') taken = 2;
  }
  const bool in_head = !has_head();
  if (in_head) {
    SIMILE_REQUEST_CHECK(!has_bad_line(bytes.substr(taken, bytes.find("\r\n\r\n", taken))),
                         Refusal::kMalformed, kNoRequest);
  }
  boost::beast::error_code error;
  if (taken < bytes.size()) taken += parser_.put({&bytes[taken], bytes.size() - taken}, error);
  (in_head ? header_bytes_ : body_bytes_) += taken;
  SIMILE_REQUEST_CHECK(error != http::error::body_limit, Refusal::kTooLarge,
                       fmt::format("the body has more than {} bytes", limits_.body_bytes));
  const bool is_unclear =
      error == http::error::bad_content_length || error == http::error::bad_transfer_encoding;
  SIMILE_REQUEST_CHECK(!error || error == http::error::need_more, Refusal::kMalformed,
                       in_head && is_unclear ? kUnclearLength : incomplete());
  check_rest(bytes.substr(taken));
  if (in_head && has_head()) read_head();
  if (is_whole()) call.body = std::move(parser_.get().body());
  return taken;
}

// `rest`: bytes that Beast has not consumed are a line that has not ended.
void RequestReader::check_rest(std::string_view rest) const {
  const auto most = static_cast<size_t>(limits_.header_bytes);
  if (header_bytes_ + (has_head() ? 0 : rest.size()) > most) {
    SIMILE_REQUEST_CHECK(header_bytes_ > 0 || rest.find('\n') != std::string_view::npos,
                         Refusal::kTargetTooLong, kLongTarget);
    throw RequestError(Refusal::kHeadersTooLarge,
                       fmt::format("the headers have more than {} bytes", most));
  }
  if (!takes_body_ || !call.is_chunked) return;
  const std::string_view line = is_whole() ? "" : rest;
  SIMILE_REQUEST_CHECK(line.size() <= kMostLine && body_bytes_ + line.size() - body_bytes() <=
                                                       kMostLine + kLinesOfByte * body_bytes(),
                       Refusal::kTooLarge, "the lines between the body's chunks are too long");
  const size_t end = line.find('\n');
  SIMILE_REQUEST_CHECK(end == std::string_view::npos || (end > 0 && line[end - 1] == '\r'),
                       Refusal::kMalformed, incomplete());
}

const char* RequestReader::incomplete() const {
  return has_head() ? "the body is not complete" : kNoRequest;
}

void RequestReader::read_head() {
  const auto& head = parser_.get();
  const auto value_of = [&](auto name) {
    std::string all;
    for (auto [at, end] = head.equal_range(name); at != end; ++at) {
      all += (all.empty() ? "" : ", ") + std::string(at->value());
    }
    return all;
  };
  call.method = std::string(head.method_string());
  const std::string length = value_of(http::field::content_length);
  const std::string coding = value_of(http::field::transfer_encoding);
  SIMILE_REQUEST_CHECK(
      head.count(http::field::content_length) + head.count(http::field::transfer_encoding) <= 1 &&
          length.find(',') == std::string::npos &&
          (coding.empty() || (parser_.chunked() && lower_text(coding) == "chunked")) &&
          (coding.empty() || !is_http10()),
      Refusal::kMalformed, kUnclearLength);
  call.is_chunked = parser_.chunked();
  call.content_length = static_cast<int64_t>(std::min<std::uint64_t>(
      parser_.content_length().value_or(0), std::numeric_limits<int64_t>::max()));
  call.host = value_of(http::field::host);
  const size_t hosts = head.count(http::field::host);
  SIMILE_REQUEST_CHECK(hosts == 1 || (hosts == 0 && is_http10()), Refusal::kMalformed,
                       "an HTTP/1.1 request has one header Host");
  SIMILE_REQUEST_CHECK(is_host(call.host), Refusal::kMalformed,
                       "the header Host is no name of a host");
  const std::string expected = lower_text(value_of(http::field::expect));
  SIMILE_REQUEST_CHECK(expected.empty() || expected == "100-continue", Refusal::kExpects,
                       "the header Expect can only be 100-continue");
  expects_continue_ = !expected.empty() && !is_http10();
  call.authorization = value_of(http::field::authorization);
  call.content_type = value_of(http::field::content_type);
  call.content_encoding = value_of(http::field::content_encoding);
  call.if_none_match = value_of(http::field::if_none_match);
  call.origin = value_of(http::field::origin);
  call.accept_encoding = value_of(http::field::accept_encoding);
  call.request_id = value_of("X-Request-Id");
  call.traceparent = value_of("traceparent");
  const auto target = head.target();
  read_target({target.data(), target.size()});
}

// "/path?query", "http://host/path?query" or "*" (RFC 9112 3.2).
void RequestReader::read_target(std::string_view target) {
  SIMILE_REQUEST_CHECK(target.size() <= kLongestTarget, Refusal::kTargetTooLong, kLongTarget);
  const size_t scheme = target.find("://");
  const bool is_absolute = target[0] != '/' && scheme != std::string_view::npos;
  if (is_absolute) {
    const std::string name = lower_text(std::string(target.substr(0, scheme)));
    target.remove_prefix(scheme + 3);
    const std::string_view host = target.substr(0, target.find_first_of("/?"));
    SIMILE_REQUEST_CHECK((name == "http" || name == "https") && !host.empty() && is_host(host),
                         Refusal::kMalformed, kNoRequest);
    call.host = std::string(host);
    target.remove_prefix(host.size());
  }
  const std::string_view path = target.substr(0, target.find('?'));
  call.path = is_absolute && path.empty() ? "/" : decode_percent(path, false);
  SIMILE_REQUEST_CHECK(call.path[0] == '/' || call.path == "*", Refusal::kMalformed, kNoRequest);
  take_place(call);
  call.query = parse_query(target.substr(std::min(target.size(), path.size() + 1)));
}

}  // namespace simile::detail
