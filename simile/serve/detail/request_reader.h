// SPDX-License-Identifier: Apache-2.0
// A request as its bytes arrive, parsed by Boost.Beast. Stricter than Beast where RFC 9112 is:
// folded lines, two hosts, a Transfer-Encoding other than chunked, a repeated Content-Length; and
// with limits for all that a client chooses: the target, the headers together, the body, and the
// lines between its chunks.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

#include "simile/serve/service.h"

namespace simile::detail {

class RequestReader {
 public:
  explicit RequestReader(const ServeLimits& limits);

  // Consumes a beginning of `bytes` and returns its length; the caller passes the rest again, with
  // more. Stops behind the headers until take_body(). Errors (RequestError): kMalformed,
  // kTargetTooLong, kHeadersTooLarge, kExpects, kTooLarge; nothing may be taken after one.
  size_t take(std::string_view bytes);
  void take_body();

  bool has_head() const { return parser_.is_header_done(); }
  bool is_whole() const { return parser_.is_done(); }
  bool announces_body() const { return call.is_chunked || call.content_length > 0; }
  bool expects_continue() const { return expects_continue_; }
  // Whether another request may follow on the connection.
  bool may_continue() const { return has_head() && parser_.keep_alive(); }
  bool is_http10() const { return parser_.get().version() == 10; }
  size_t body_bytes() const { return parser_.get().body().size() + call.body.size(); }
  const char* incomplete() const;  // what is wrong with a request that ends here

  Call call;  // its body when it is whole

 private:
  void check_rest(std::string_view rest) const;
  void read_head();
  void read_target(std::string_view target);

  const ServeLimits& limits_;
  boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
  bool skipped_line_ = false, expects_continue_ = false, takes_body_ = false;
  size_t header_bytes_ = 0, body_bytes_ = 0;  // received, of the body with its framing
};

}  // namespace simile::detail
