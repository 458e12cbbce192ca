// SPDX-License-Identifier: Apache-2.0
// A zip archive of torch.save (torch 1.6 and later) with PREFIX/data.pkl, a pickle that says which
// tensors there are, and their numbers in PREFIX/data/0, 1, ...
//
// The pickle is read as data, and nothing in it is ever run (detail/state_dict.h). Tensors may
// share a storage and may lie in it in any order of rows and columns; this is checked.

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "simile/core/check.h"
#include "simile/core/file_kind.h"
#include "simile/model/detail/state_dict.h"
#include "simile/model/tensor_source.h"

namespace simile {
namespace {

using detail::StateDictTensor;

// --- The zip archive ---
//
// Finds the entries of a zip archive that stores them without compression, as torch.save writes it.
// Zip64 and data descriptors are understood; sizes come from the central directory.
//
// Nothing is read beyond the archive's bytes. Checksums are not compared: torch.load() does not
// compare them either, torch can omit them, and it would mean reading gigabytes twice.
// Source: PKWARE, APPNOTE.TXT, .ZIP File Format Specification 6.3.

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw_error(ErrorKind::kInput, "{}: {}", path, what);
}

struct ZipEntry {
  size_t offset = 0;  // of its first byte, from the start of the archive
  size_t size = 0;    // bytes
};
using Entries = std::map<std::string, ZipEntry>;

constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr uint32_t kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr size_t kEntrySize = 46, kLocalSize = 30, kLongestComment = 65535;

// The archive's bytes, read little-endian where there are enough of them.
class Bytes {
 public:
  Bytes(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }

  [[noreturn]] void fail(const std::string& what) const { simile::fail(path_, what); }

  std::string_view part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      fail(fmt::format(
          "truncated: its zip needs bytes {} to {}, the file has {}; copy or download it again",
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

// The end record is the last thing in the file, except for a comment whose length it holds.
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

// Sizes and offsets whose 32 bits are all ones are in the extra field 1, in this order.
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

// Entries by name. Errors (ErrorKind::kInput) name the file `path`, and the entry: no zip archive,
// truncated, several disks, an entry that is compressed, encrypted, there twice or beyond the end.
Entries read_zip_directory(const std::string& path, std::string_view archive) {
  const Bytes bytes(path, archive);
  const Directory directory = find_directory(bytes);
  bytes.part(directory.offset, directory.size);
  std::map<std::string, ZipEntry> entries;
  uint64_t at = directory.offset;
  const uint64_t end = directory.offset + directory.size;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (end - at < kEntrySize || bytes.number(at, 4) != kEntryMark) {
      bytes.fail(
          fmt::format("the zip archive's directory is damaged: {} entries expected, {} found",
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

// --- What torch puts into it ---

constexpr const char* kResave =
    "load it with torch and save it with model.save_pretrained(folder, safe_serialization=True)";

bool is_dense(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t side = shape.size(); side-- > 0;) {
    if (shape[side] != 1 && strides[side] != expected) return false;
    expected *= shape[side];
  }
  return true;
}

// Numbers from the tensor's first to behind its last, or nothing when they overflow.
bool span_numbers(const StateDictTensor& tensor, int64_t& span) {
  span = 1;
  for (size_t side = 0; side < tensor.shape.size(); ++side) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[side] - 1, tensor.strides[side], &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return false;
    }
  }
  return true;
}

TensorInfo locate(const std::string& path, const ZipEntry& storage, const StateDictTensor& tensor) {
  const size_t width = tensor_type_width(tensor.type);
  const auto numbers = static_cast<int64_t>(storage.size / width);
  const auto check = [&](bool holds, const std::string& what) {
    if (!holds) fail(path, fmt::format("tensor '{}' {}", tensor.name, what));
  };
  check(tensor.storage_numbers <= numbers,
        fmt::format("lies in a storage of {} numbers in {}, but its zip entry has only {} bytes",
                    tensor.storage_numbers, tensor_type_name(tensor.type), storage.size));
  TensorInfo info;
  info.name = tensor.name;
  info.type = tensor.type;
  info.shape = tensor.shape;
  check(count_numbers(tensor.shape, width, info.size),
        fmt::format("of shape {} is too large", shape_text(tensor.shape)));
  info.offset = storage.offset;
  if (info.size == 0) return info;
  int64_t span = 0;
  const bool fits = span_numbers(tensor, span) && span <= tensor.storage_numbers &&
                    tensor.offset <= tensor.storage_numbers - span &&
                    info.size <= tensor.storage_numbers;
  check(fits,
        fmt::format("of shape {} with strides {} at {} leads out of its storage of {} numbers",
                    shape_text(tensor.shape), shape_text(tensor.strides), tensor.offset,
                    tensor.storage_numbers));
  if (!is_dense(tensor.shape, tensor.strides)) info.strides = tensor.strides;
  info.offset += static_cast<size_t>(tensor.offset) * width;
  info.bytes = static_cast<size_t>(span) * width;
  return info;
}

}  // namespace

ParsedTensors parse_torch_file(const std::string& path, std::string_view bytes) {
  SIMILE_CHECK(bytes.substr(0, 1) != "\x80", ErrorKind::kInput,
               "{}: a bare pickle, the format of torch before 1.6, is not read; {}", path, kResave);
  if (bytes.substr(0, 4) != std::string_view("PK\3\4", 4)) {
    const std::string foreign = describe_foreign(bytes);
    if (!foreign.empty()) fail(path, "it " + foreign);
    fail(path, "not a file of torch.save: it is no zip archive; copy or download it again");
  }
  const Entries entries = read_zip_directory(path, bytes);
  const auto pickle = std::find_if(entries.begin(), entries.end(), [](const auto& entry) {
    const size_t slash = entry.first.find('/');
    return slash != std::string::npos && entry.first.substr(slash + 1) == "data.pkl";
  });
  SIMILE_CHECK(pickle != entries.end(), ErrorKind::kInput,
               "{}: not a file of torch.save: the zip archive has no data.pkl", path);
  const auto bytes_of = [&](const ZipEntry& entry) {
    return bytes.substr(entry.offset, entry.size);
  };
  const std::string prefix = pickle->first.substr(0, pickle->first.find('/') + 1);
  const auto order = entries.find(prefix + "byteorder");
  SIMILE_CHECK(!(order != entries.end() && bytes_of(order->second) != "little"), ErrorKind::kInput,
               "{}: its numbers are in {}-endian order, expected little; {}", path,
               bytes_of(order->second).substr(0, 16), kResave);
  ParsedTensors parsed;
  for (const StateDictTensor& tensor : detail::read_state_dict(bytes_of(pickle->second), path)) {
    const auto storage = entries.find(prefix + "data/" + tensor.storage);
    SIMILE_CHECK(storage != entries.end(), ErrorKind::kInput,
                 "{}: tensor '{}' lies in the zip entry '{}data/{}', which is missing", path,
                 tensor.name, prefix, tensor.storage);
    parsed.tensors.push_back(locate(path, storage->second, tensor));
  }
  std::sort(parsed.tensors.begin(), parsed.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
            });
  return parsed;
}

TorchFile::TorchFile(const std::string& path) : TensorSource(path) {
  MappedFile file(path);
  ParsedTensors parsed = parse_torch_file(path, file.bytes());
  add_file(std::move(file));
  set_tensors(std::move(parsed.tensors));
}

}  // namespace simile
