// SPDX-License-Identifier: Apache-2.0
// One request over http or https, by libcurl.
//
// Proxies are those of the environment (https_proxy, no_proxy). Certificates are verified against
// those of the system, or of the file that SSL_CERT_FILE names. A header Authorization does not
// follow a redirect to another server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace simile {

struct WebRequest {
  std::string url;                   // http:// or https://
  std::vector<std::string> headers;  // "Range: bytes=10-"
  bool wants_body = true;            // else HEAD
  bool follows = true;               // redirects
  double timeout_seconds = 30;       // to connect, and between two pieces
};

struct WebAnswer {
  int status = 0;                              // 0: none came
  std::map<std::string, std::string> headers;  // of the last answer, names in lower case
  std::string problem;    // why it is not complete, or the server busy (408, 429, 5xx); else empty
  bool may_retry = true;  // the problem may pass

  std::string header(const std::string& name) const;  // empty without
};

// Receives the answer piece by piece. A function that throws ends the request with its error.
struct WebTaker {
  // Before the body, with status and headers; false: the body is not wanted.
  std::function<bool(const WebAnswer&)> start;
  std::function<void(const char* bytes, size_t count)> take;
  std::function<void()> wait;  // several times a second, to throw when work shall stop
};

// Errors: ErrorKind::kUsage for a URL of another form, and the exceptions of `taker`'s functions.
WebAnswer send(const WebRequest& request, const WebTaker& taker);

// Throws ErrorKind::kUsage unless `url` begins with http:// or https:// and names a server.
void check_url(const std::string& url);

}  // namespace simile
