// SPDX-License-Identifier: Apache-2.0
#include "simile/model/torch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "simile/core/error.h"
#include "simile/model/detail/state_dict.h"
#include "simile/model/detail/zip_archive.h"

namespace simile {
namespace {

using detail::StateDictTensor;
using detail::ZipEntry;

using Entries = std::map<std::string, ZipEntry>;

constexpr const char* kResave =
    "load it with torch and save it again, best with model.save_pretrained(folder, "
    "safe_serialization=True)";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput, fmt::format("{}: {}", path, what));
}

void check_is_zip(const std::string& path, std::string_view bytes) {
  if (bytes.substr(0, 4) == std::string_view("PK\3\4", 4)) return;
  if (bytes.substr(0, 1) == "\x80") {
    fail(path,
         fmt::format("a bare pickle, the format of torch before 1.6, is not read; {}", kResave));
  }
  fail(path, "not a file of torch.save: it is no zip archive; copy or download it again");
}

// "archive/" of the one entry "archive/data.pkl".
std::string find_prefix(const std::string& path, const Entries& entries) {
  const std::string name = "data.pkl";
  for (const auto& [entry, place] : entries) {
    const size_t slash = entry.find('/');
    if (slash != std::string::npos && entry.substr(slash + 1) == name) {
      return entry.substr(0, slash + 1);
    }
  }
  fail(path, fmt::format("not a file of torch.save: the zip archive has no {}", name));
}

void check_byte_order(const std::string& path, const Entries& entries, const std::string& prefix,
                      std::string_view bytes) {
  const auto found = entries.find(prefix + "byteorder");
  if (found == entries.end()) return;
  const std::string_view order = bytes.substr(found->second.offset, found->second.size);
  if (order != "little") {
    fail(path, fmt::format("its numbers are in {}-endian order, expected little; {}",
                           order.substr(0, 16), kResave));
  }
}

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

const ZipEntry& find_storage(const std::string& path, const Entries& entries,
                             const std::string& prefix, const StateDictTensor& tensor) {
  const auto found = entries.find(prefix + "data/" + tensor.storage);
  if (found == entries.end()) {
    fail(path, fmt::format("tensor '{}' lies in the zip entry '{}data/{}', which is missing",
                           tensor.name, prefix, tensor.storage));
  }
  return found->second;
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
  check_is_zip(path, bytes);
  const Entries entries = detail::read_zip_directory(path, bytes);
  const std::string prefix = find_prefix(path, entries);
  check_byte_order(path, entries, prefix, bytes);
  const ZipEntry& pickle = entries.at(prefix + "data.pkl");
  ParsedTensors parsed;
  for (const StateDictTensor& tensor :
       detail::read_state_dict(bytes.substr(pickle.offset, pickle.size), path)) {
    parsed.tensors.push_back(locate(path, find_storage(path, entries, prefix, tensor), tensor));
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
