// SPDX-License-Identifier: Apache-2.0
// What a server listens on, how much it takes at a time, what it lets clients do, and who may ask.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/options.h"

namespace simile {

// How much a server takes at a time, and what it tells of it.
struct ServeLimits {
  int64_t batch_tokens = 2048;               // encoded at a time
  int64_t queue_texts = 1024;                // that wait, see batching_worker.h
  int64_t queue_tokens = 262144;             // the same
  int64_t request_texts = 32;                // of one request
  int64_t bulk_texts = 2048;                 // of one request to /v1/embeddings or /documents
  int64_t text_bytes = 100000;               // of one text
  int64_t body_bytes = 2000000;              // of one request
  int64_t answer_bytes = int64_t{16} << 20;  // of the hits of one search or map
  int64_t request_seconds = 30;              // to receive a request, and until it is computed
  int64_t keep_alive_seconds = 15;
  int64_t connections = 256;  // answered at a time, each by a thread of its own
  bool log_texts = false;     // the bodies of requests stand in the log

  void visit(OptionVisitor& v);
};

struct ServeOptions : ServeLimits {
  std::string host = "127.0.0.1";
  int64_t port = 8080;  // 0: one that is free
  std::string api_key_file;
  std::string tls_certificate, tls_key;  // both or none
  std::string runs;                      // folder of training runs to show; empty: none
  bool allow_open = false;
  bool allow_changes = false;
  std::vector<std::string> allow_host;  // see AllowedHosts
  std::vector<std::string> served_model_name;

  void visit(OptionVisitor& v);
};

// Whether `host` is "localhost" or an address of this machine to itself (127.x.x.x, ::1).
bool is_loopback(const std::string& host);

// Errors (kUsage): an address that others reach without an API key and without `allow_open`; a
// certificate without its key.
void check_exposure(const ServeOptions& options);

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
  bool looks_ = false;
  std::vector<std::string> names_;  // in small letters
};

// The name in "name:port", "[::1]:port" or "https://name:port", in small letters and without the
// brackets.
std::string host_name(const std::string& written);

}  // namespace simile
