// SPDX-License-Identifier: Apache-2.0
// Who may use the server: those with an API key, and, of browsers on this machine, those whose page
// the server knows.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "simile/serve/serve_options.h"

namespace simile {

// The keys of those who may use the server. Held and compared as SHA-256 digests, in a time that
// does not depend on which key, or how much of one, was right.
class ApiKeys {
 public:
  ApiKeys() = default;  // none: everybody may

  // One key a line; blank lines, and spaces around a key, do not count. Errors (kInput): a file
  // that cannot be read or has no key.
  static ApiKeys load(const std::string& path);

  // Whether `authorization`, that header of a request, is "Bearer ", in whatever letters, and one
  // of the keys; true where there are none.
  bool accepts(std::string_view authorization) const;
  bool empty() const { return digests_.empty(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view key);

  std::vector<Digest> digests_;
};

// Refuses what a browser on this machine requests for a page of another site. Such a page can send
// requests to loopback, and with a name of its own that it lets point there (DNS rebinding) also
// read the answers. Either shows in the headers Host and Origin, which a page cannot choose. A
// server that asks for an API key need not look at them, since a page does not know the key, but
// it does where names are given.
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
