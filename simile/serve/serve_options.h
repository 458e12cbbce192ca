// SPDX-License-Identifier: Apache-2.0
// What a server listens on, what it lets clients do, and how much it takes at a time.
#pragma once

#include <cstdint>
#include <string>
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
  std::vector<std::string> allow_host;  // see access.h
  std::vector<std::string> served_model_name;

  void visit(OptionVisitor& v);
};

// Whether `host` is "localhost" or an address of this machine to itself (127.x.x.x, ::1).
bool is_loopback(const std::string& host);

// Errors (kUsage): an address that others reach without an API key and without `allow_open`; a
// certificate without its key.
void check_exposure(const ServeOptions& options);

}  // namespace simile
