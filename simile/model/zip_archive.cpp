// SPDX-License-Identifier: Apache-2.0
// Source: PKWARE, APPNOTE.TXT, .ZIP File Format Specification 6.3.
#include "simile/model/detail/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr uint32_t kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr size_t kEntrySize = 46, kLocalSize = 30, kLongestComment = 65535;

// The archive's bytes, read little-endian where there are enough of them.
class Bytes {
 public:
  Bytes(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", path_, what));
  }

  std::string_view part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      fail(
          fmt::format("truncated: the zip archive needs bytes {} to {}, the file has {}; copy or "
                      "download it again",
                      offset, offset + size, bytes_.size()));
    }
    return bytes_.substr(offset, size);
  }

  uint64_t number(uint64_t offset, size_t width) const {
    const std::string_view in = part(offset, width);
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(in[i]);
    return value;
  }

 private:
  const std::string& path_;
  std::string_view bytes_;
};

struct Directory {
  uint64_t offset, size, entries;
};

// The end record is the last thing in the file, but for a comment whose length it tells.
size_t find_end(const Bytes& bytes) {
  const size_t size = bytes.size();
  for (size_t back = kEndSize; back <= size && back <= kEndSize + kLongestComment; ++back) {
    const size_t at = size - back;
    if (bytes.number(at, 4) == kEndMark && bytes.number(at + 20, 2) == back - kEndSize) return at;
  }
  bytes.fail("not a complete zip archive: it has no end record; copy or download it again");
}

Directory find_directory(const Bytes& bytes) {
  const size_t end = find_end(bytes);
  if (end >= kLocator64Size && bytes.number(end - kLocator64Size, 4) == kLocator64Mark) {
    const uint64_t at = bytes.number(end - kLocator64Size + 8, 8);
    bytes.part(at, kEnd64Size);
    if (bytes.number(at, 4) != kEnd64Mark) bytes.fail("the zip archive's zip64 record is damaged");
    return {bytes.number(at + 48, 8), bytes.number(at + 40, 8), bytes.number(at + 32, 8)};
  }
  if (bytes.number(end + 4, 2) != 0) bytes.fail("a zip archive of several disks is not supported");
  return {bytes.number(end + 16, 4), bytes.number(end + 12, 4), bytes.number(end + 10, 2)};
}

struct Header {
  std::string name;
  uint64_t flags, method, packed, size, local;
};

// Sizes and offsets of 32 bits that are all ones stand in the extra field 1, in this order.
void read_zip64(const Bytes& bytes, uint64_t extra, uint64_t extra_size, Header& header) {
  constexpr uint64_t kElsewhere = 0xffffffff;
  for (uint64_t at = extra; at + 4 <= extra + extra_size;) {
    const uint64_t kind = bytes.number(at, 2), size = bytes.number(at + 2, 2);
    uint64_t next = at + 4;
    const uint64_t stop = next + size;
    for (uint64_t* field : {&header.size, &header.packed, &header.local}) {
      if (kind != 1 || *field != kElsewhere || next + 8 > stop) continue;
      *field = bytes.number(next, 8);
      next += 8;
    }
    at = stop;
  }
}

ZipEntry locate(const Bytes& bytes, const Header& header) {
  const auto check = [&](bool holds, const char* what) {
    if (!holds) bytes.fail(fmt::format("zip entry '{}' {}", header.name, what));
  };
  check((header.flags & 1) == 0, "is encrypted, which is not supported");
  check(header.method == 0, "is compressed; torch.save() stores entries as they are");
  check(header.packed == header.size, "has two sizes: the archive is damaged");
  bytes.part(header.local, kLocalSize);
  const uint64_t name = bytes.number(header.local + 26, 2);
  check(bytes.number(header.local, 4) == kLocalMark &&
            bytes.part(header.local + kLocalSize, name) == header.name,
        "is not where the directory says: the archive is damaged");
  const uint64_t begin = header.local + kLocalSize + name + bytes.number(header.local + 28, 2);
  bytes.part(begin, header.size);
  return {begin, header.size};
}

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(const std::string& path,
                                                   std::string_view archive) {
  const Bytes bytes(path, archive);
  const Directory directory = find_directory(bytes);
  bytes.part(directory.offset, directory.size);
  std::map<std::string, ZipEntry> entries;
  uint64_t at = directory.offset;
  const uint64_t end = directory.offset + directory.size;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (end - at < kEntrySize || bytes.number(at, 4) != kEntryMark) {
      bytes.fail(
          fmt::format("the zip archive's directory is damaged: it should list {} entries, "
                      "but only {} are there",
                      directory.entries, i));
    }
    Header header{"",
                  bytes.number(at + 8, 2),
                  bytes.number(at + 10, 2),
                  bytes.number(at + 20, 4),
                  bytes.number(at + 24, 4),
                  bytes.number(at + 42, 4)};
    const uint64_t name = bytes.number(at + 28, 2), extra = bytes.number(at + 30, 2);
    const uint64_t next = at + kEntrySize + name + extra + bytes.number(at + 32, 2);
    if (next > end) bytes.fail("the zip archive's directory is damaged: an entry leads out of it");
    header.name = std::string(bytes.part(at + kEntrySize, name));
    read_zip64(bytes, at + kEntrySize + name, extra, header);
    const bool is_new = entries.emplace(header.name, locate(bytes, header)).second;
    if (!is_new) bytes.fail(fmt::format("zip entry '{}' is there twice", header.name));
    at = next;
  }
  return entries;
}

}  // namespace simile::detail
