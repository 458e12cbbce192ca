// SPDX-License-Identifier: Apache-2.0
// Options of a server: its address, its limits, what clients may do, and which clients are allowed.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/options.h"

namespace simile {

// Limits of a server, and what it logs.
struct ServeLimits {
  int64_t batch_tokens = 2048;                 // encoded at a time
  int64_t queue_texts = 1024;                  // that wait, see batching_worker.h
  int64_t queue_tokens = 262144;               // the same
  int64_t request_texts = 32;                  // of one request
  int64_t bulk_texts = 2048;                   // of one request to /v1/embeddings or /documents
  int64_t text_bytes = 100000;                 // of one text
  int64_t body_bytes = 2000000;                // of one request
  int64_t answer_bytes = int64_t{16} << 20;    // of the hits of one search or map
  int64_t request_seconds = 30;                // to receive a request, and until it is computed
  int64_t requests = 512;                      // answered at a time
  int64_t header_bytes = 32768;                // of one request
  int64_t header_seconds = 10;                 // until they are there
  std::vector<std::string> cors_allow_origin;  // whose pages may read answers; "*": all
  bool log_texts = false;                      // the bodies of requests stand in the log
  bool strict_model_name = false;              // other names than the model's are refused

  void visit(OptionVisitor& v);
};

struct ServeOptions : ServeLimits {
  int64_t connections = 4096;
  int64_t connections_per_address = 0;  // 0: no limit
  int64_t handshake_seconds = 5;
  int64_t keep_alive_seconds = 15;
  std::string host = "127.0.0.1";
  int64_t port = 8080;  // 0: one that is free
  std::string api_key_file;
  std::string tls_certificate, tls_key;  // both or none
  std::string runs;                      // folder of training runs to show; empty: none
  std::string snapshots;                 // folder for copies of the index; empty: none
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

// A key, what its holder may do, and what it has used.
struct ApiKey {
  using Time = std::chrono::steady_clock::time_point;

  std::string key, name, role = "write";
  int64_t requests_per_minute = 0, tokens_per_minute = 0;  // 0: no limit

  void visit(OptionVisitor& v);

  // Whether its role is this one, or has more: read, write, admin.
  bool may(const std::string& needed) const;

  // What a minute gives may be used at once or evenly. Errors (RequestError): kOverloaded, with the
  // seconds until the key may send a request.
  void begin_request(Time now);
  void take_tokens(int64_t count);  // that one cost; it may be more than are left

  // From here on both use up the same minute, if their limits are the same.
  void share_balance(const ApiKey& other);

 private:
  struct Balance {
    std::mutex mutex;
    double requests_left = 0, tokens_left = 0;
    Time last = {};
  };
  std::shared_ptr<Balance> balance_ = std::make_shared<Balance>();
};

// The keys of clients that may use the server. Held and compared as SHA-256 digests, in a time that
// does not depend on which key, or how much of one, was right.
class ApiKeys {
 public:
  ApiKeys() = default;  // none: everybody may

  // One key a line, or one in braces with the fields of ApiKey; blank lines, lines that begin with
  // #, and spaces around a key do not count. Errors (kInput): a file that cannot be read or has no
  // key, or settings that cannot be used.
  static ApiKeys load(const std::string& path);

  // The key that `authorization`, that header of a request, is behind "Bearer ", in whatever
  // letters; null: none.
  std::shared_ptr<ApiKey> find(std::string_view authorization) const;
  // A key that `before` has with the same limits gets no new allowance.
  void keep_balances(const ApiKeys& before);
  bool empty() const { return keys_.empty(); }
  std::string describe() const;  // "2 keys: web (read), line 2 (write)"

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view key);

  std::vector<std::pair<Digest, std::shared_ptr<ApiKey>>> keys_;
};

// Rejects requests that a browser on this machine makes for a page of another site. Such a page can
// send requests to loopback and, with a host name of its own that resolves to loopback (DNS
// rebinding), also read the answers. Both cases show in the headers Host and Origin, which a page
// cannot choose. A server with API keys need not check them, because a page does not know the key;
// it does so only if names are given.
class AllowedHosts {
 public:
  AllowedHosts() = default;  // whoever asks
  // Checks requests if the server listens on loopback without keys, or if `allow_host` names hosts,
  // with keys or without. It accepts this machine's names and the given ones; "*" accepts all.
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
