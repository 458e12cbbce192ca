// SPDX-License-Identifier: Apache-2.0
// Fetches a file over http or https, in as many attempts as it takes, and checks its checksum.
//
// Bytes are written to `path`.part; when an attempt breaks off, the next one asks the server for
// the rest (a Range request), also in a later call. A server that sends all of the file again is
// taken at its word. Once complete, the file is checked, flushed and renamed to `path`. Redirects
// are followed; proxies and certificates are those of simile/data/web.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"

namespace simile {

struct Download {
  std::string url;  // http:// or https://
  std::string path;
  std::string checksum;                    // "sha256:HEX", "md5:HEX" or "git:HEX"; empty: not known
  std::vector<std::string> accepted = {};  // checksums that also do
  std::vector<std::string> headers = {};   // "Authorization: Bearer TOKEN"; none to another server
  std::string part = {};                   // where bytes are gathered; empty: `path`.part
  bool takes_any = false;                  // with no checksum known, what comes is right
};

struct DownloadOptions {
  int64_t attempts = 5;         // one after the other that bring no byte
  double pause_seconds = 1;     // after the first of them; doubled each time, up to 30
  double timeout_seconds = 30;  // to connect, and between two pieces
};

// Returns the file's checksum, "sha256:HEX" unless `checksum` is an md5. A file at `path` with the
// right checksum is not fetched again. Progress in bytes goes to `events`, which may throw to stop;
// fetched bytes are kept.
//
// Errors: kUsage for a URL or checksum of another form; kFailed if the server cannot be reached,
// answers with an error (404 and the like at once), or sends a file with another checksum (which is
// then removed), and if no checksum is known: the message has the computed one, and the file stays
// as .part; kInput for a file at `path` with another checksum; kIo for what cannot be written.
std::string download(const Download& download, const DownloadOptions& options, EventSink& events);

// Waits before the next attempt after `idle` of them that brought nothing; `events` may throw.
void wait_for_attempt(int64_t idle, const DownloadOptions& options, EventSink& events);

// "sha256:HEX" or "md5:HEX" of a file, or "git:HEX", which is the SHA-1 that Git names it by.
// Errors: ErrorKind::kInput for one that cannot be read.
std::string file_checksum(const std::string& path, const std::string& algorithm = "sha256");

}  // namespace simile
