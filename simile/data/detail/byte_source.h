// SPDX-License-Identifier: Apache-2.0
// Bytes of a file - plain, gzip or zstd - or of a stream, in order. Used by
// simile/data/line_reader.h.
//
// A file whose name ends in .zst is zstd: one frame or several. Any other is gzip or plain, which
// its first bytes tell. Memory: zstd's window, at most kMaximumZstdWindowBytes.
//
// Errors (ErrorKind::kInput, with the file and how far it was read): a file that cannot be opened
// or read, a folder, one that is damaged or cut, a zstd window over the limit, zstd bytes in a file
// that is not named so. ErrorKind::kInterrupted: a signal while waiting for bytes. What a stream
// throws (where its exceptions() say so) passes through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

namespace simile {

constexpr int64_t kMaximumZstdWindowBytes = int64_t{128} << 20;

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Up to `size` bytes; 0 at the end.
  virtual size_t read(char* bytes, size_t size) = 0;
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path);
// `stream` must outlive the source; `name` stands for it in messages.
std::unique_ptr<ByteSource> stream_bytes(std::istream& stream, const std::string& name);

}  // namespace simile
