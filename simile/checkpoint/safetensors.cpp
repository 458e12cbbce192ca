// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/half.h"

namespace simile {
namespace {

using detail::describe_json;
using detail::Json;

constexpr size_t kLongestHeader = size_t{4} << 20;

struct TypeRow {
  TensorType type;
  const char* name;
  size_t width;
};

constexpr TypeRow kTypes[] = {
    {TensorType::kF64, "F64", 8},   {TensorType::kF32, "F32", 4}, {TensorType::kF16, "F16", 2},
    {TensorType::kBf16, "BF16", 2}, {TensorType::kI64, "I64", 8}, {TensorType::kI32, "I32", 4},
    {TensorType::kI16, "I16", 2},   {TensorType::kI8, "I8", 1},   {TensorType::kU8, "U8", 1},
    {TensorType::kBool, "BOOL", 1},
};

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput, fmt::format("{}: {}", path, what));
}

uint64_t read_length(std::string_view bytes) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

// The header's JSON, after the checks that make it safe to parse.
std::string_view find_header(const std::string& path, std::string_view bytes) {
  if (bytes.size() < 8) {
    fail(path,
         fmt::format("not a safetensors file: {} bytes, fewer than the 8 of the header length",
                     bytes.size()));
  }
  const uint64_t length = read_length(bytes);
  if (length > kLongestHeader) {
    fail(path,
         fmt::format("not a safetensors file: its first 8 bytes promise a header of {} bytes, "
                     "at most {} are accepted",
                     length, kLongestHeader));
  }
  if (length > bytes.size() - 8) {
    fail(path, fmt::format("truncated: the header alone needs {} bytes, the file has {}; copy or "
                           "download it again",
                           length + 8, bytes.size()));
  }
  return bytes.substr(8, length);
}

TensorType read_type(const Json& json, const std::string& where) {
  std::string names;
  for (const TypeRow& row : kTypes) {
    if (json.is_string() && json.get_ref<const std::string&>() == row.name) return row.type;
    names += std::string(names.empty() ? "" : ", ") + row.name;
  }
  throw Error(ErrorKind::kInput, fmt::format("{}: \"dtype\" must be one of {}, but it is {}", where,
                                             names, describe_json(json)));
}

std::vector<int64_t> read_shape(const Json& json, const std::string& where) {
  SIMILE_CHECK(json.is_array() && json.size() <= 16, ErrorKind::kInput,
               fmt::format("{}: \"shape\" must be a list of at most 16 sizes, but it is {}", where,
                           describe_json(json)));
  std::vector<int64_t> shape;
  for (const Json& side : json) {
    SIMILE_CHECK(side.is_number_unsigned() && side.get<uint64_t>() < (uint64_t{1} << 48),
                 ErrorKind::kInput,
                 fmt::format("{}: \"shape\" holds {}, expected whole numbers below 2^48", where,
                             describe_json(side)));
    shape.push_back(side.get<int64_t>());
  }
  return shape;
}

// Numbers in a tensor, or an error when that many bytes cannot be counted in 63 bits.
int64_t count_numbers(const std::vector<int64_t>& shape, size_t width, const std::string& where) {
  int64_t size = 1;
  for (const int64_t side : shape) {
    SIMILE_CHECK(!__builtin_mul_overflow(size, side, &size), ErrorKind::kInput,
                 fmt::format("{}: shape {} is too large", where, shape_text(shape)));
  }
  int64_t bytes = 0;
  SIMILE_CHECK(!__builtin_mul_overflow(size, static_cast<int64_t>(width), &bytes),
               ErrorKind::kInput,
               fmt::format("{}: shape {} is too large", where, shape_text(shape)));
  return size;
}

TensorInfo read_tensor(const std::string& path, const std::string& name, const Json& json,
                       size_t data_begin) {
  const std::string where = fmt::format("{}: tensor '{}'", path, name);
  const detail::JsonObject object(json, where);
  TensorInfo tensor;
  tensor.name = name;
  tensor.type = read_type(object.at("dtype"), where);
  tensor.shape = read_shape(object.at("shape"), where);
  tensor.size = count_numbers(tensor.shape, tensor_type_width(tensor.type), where);
  tensor.bytes = static_cast<size_t>(tensor.size) * tensor_type_width(tensor.type);
  const Json& offsets = object.at("data_offsets");
  const bool pair = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
                    offsets[1].is_number_unsigned();
  SIMILE_CHECK(pair, ErrorKind::kInput,
               fmt::format("{}: \"data_offsets\" must be [begin, end], but it is {}", where,
                           describe_json(offsets)));
  const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  SIMILE_CHECK(begin <= end && end - begin == tensor.bytes, ErrorKind::kInput,
               fmt::format("{}: \"data_offsets\" [{}, {}] must span the {} bytes of a {} tensor of "
                           "shape {}",
                           where, begin, end, tensor.bytes, tensor_type_name(tensor.type),
                           shape_text(tensor.shape)));
  SIMILE_CHECK(begin < (uint64_t{1} << 62), ErrorKind::kInput,
               fmt::format("{}: \"data_offsets\" begin at {}, too large", where, begin));
  tensor.offset = data_begin + begin;
  return tensor;
}

void convert(TensorType type, const char* from, int64_t count, float* out) {
  if (type == TensorType::kF32) {
    std::memcpy(out, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  if (type == TensorType::kF16) return halves_to_floats(from, count, out);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, sizeof half);
    out[i] = bfloat16_to_float(half);
  }
}

}  // namespace

const char* tensor_type_name(TensorType type) { return kTypes[static_cast<size_t>(type)].name; }

size_t tensor_type_width(TensorType type) { return kTypes[static_cast<size_t>(type)].width; }

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  const std::string_view header = find_header(path, file_.bytes());
  const Json json = detail::parse_json(header, path + " (header)");
  if (!json.is_object()) fail(path, "the header is not a JSON object");
  const size_t data_begin = 8 + header.size();
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) fail(path, "\"__metadata__\" must be an object of texts");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) fail(path, "\"__metadata__\" must be an object of texts");
        metadata_[key] = text.get<std::string>();
      }
    } else {
      tensors_.push_back(read_tensor(path, name, value, data_begin));
    }
  }
  check_layout(data_begin);
}

void SafetensorsFile::check_layout(size_t header_end) {
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  size_t promised = header_end;
  for (const TensorInfo& tensor : tensors_) {
    promised = std::max(promised, tensor.offset + tensor.bytes);
  }
  const size_t present = file_.bytes().size();
  if (promised > present) {
    fail(path_, fmt::format("truncated: the header promises {} bytes, the file has {}; copy or "
                            "download it again",
                            promised, present));
  }
  size_t end = header_end;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo& tensor = tensors_[i];
    if (tensor.offset != end) {
      fail(path_, fmt::format("tensor '{}' begins at byte {}, expected {}: tensors {}", tensor.name,
                              tensor.offset, end, tensor.offset < end ? "overlap" : "leave a gap"));
    }
    end += tensor.bytes;
    index_[tensor.name] = i;
  }
  if (end != present) {
    fail(path_, fmt::format("the header describes {} bytes, the file has {}", end, present));
  }
}

const TensorInfo* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::string_view SafetensorsFile::bytes(const TensorInfo& tensor) const {
  return file_.bytes().substr(tensor.offset, tensor.bytes);
}

const void* SafetensorsFile::numbers_in_place(const TensorInfo& tensor, TensorType type) const {
  const char* data = file_.bytes().data() + tensor.offset;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % tensor_type_width(type) == 0;
  return tensor.type == type && aligned ? data : nullptr;
}

const float* SafetensorsFile::floats_in_place(const TensorInfo& tensor) const {
  return static_cast<const float*>(numbers_in_place(tensor, TensorType::kF32));
}

const uint16_t* SafetensorsFile::halves_in_place(const TensorInfo& tensor) const {
  return static_cast<const uint16_t*>(numbers_in_place(tensor, TensorType::kF16));
}

void SafetensorsFile::read_floats(const TensorInfo& tensor, int64_t begin, int64_t count,
                                  float* out) const {
  const bool readable = tensor.type == TensorType::kF32 || tensor.type == TensorType::kF16 ||
                        tensor.type == TensorType::kBf16;
  SIMILE_CHECK(readable, ErrorKind::kInput,
               fmt::format("{}: tensor '{}' has type {}, expected F32, F16 or BF16", path_,
                           tensor.name, tensor_type_name(tensor.type)));
  const size_t width = tensor_type_width(tensor.type);
  convert(tensor.type, bytes(tensor).data() + static_cast<size_t>(begin) * width, count, out);
}

void SafetensorsFile::release(const TensorInfo& tensor, int64_t begin, int64_t count) const {
  const size_t width = tensor_type_width(tensor.type);
  file_.release(tensor.offset + static_cast<size_t>(begin) * width,
                static_cast<size_t>(count) * width);
}

}  // namespace simile
