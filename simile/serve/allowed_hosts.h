// SPDX-License-Identifier: Apache-2.0
// Whom a server on this machine alone answers: what a browser asks for somebody else's page is
// refused. Such a page can send requests to loopback, and with a name of its own that it lets point
// there (DNS rebinding) also read the answers; either shows in the headers Host and Origin, which a
// page cannot choose.
//
// Where an API key is asked for there need be nothing to look at: a page does not know it. Names
// that were given are held to all the same.
#pragma once

#include <string>
#include <vector>

#include "simile/serve/serve_options.h"

namespace simile {

class AllowedHosts {
 public:
  AllowedHosts() = default;  // whoever asks
  // Looks where the server listens on loopback without keys, and where `allow_host` names any,
  // keys or not: this machine's names and those are let in, "*" lets in all.
  explicit AllowedHosts(const ServeOptions& options);

  // `host` and `origin` are those headers; empty, as programs send them, is let in. Errors
  // (RequestError): kForbidden.
  void check(const std::string& host, const std::string& origin) const;

 private:
  bool allows(const std::string& name) const;

  bool looks_ = false;
  std::vector<std::string> names_;  // in small letters
};

// The name in "name:port", "[::1]:port" or "https://name:port", in small letters and without the
// brackets.
std::string host_name(const std::string& written);

}  // namespace simile
