// SPDX-License-Identifier: Apache-2.0
#include "simile/model/safetensors.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <tuple>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file_kind.h"
#include "simile/core/half.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

using detail::describe_json;
using detail::Json;

constexpr size_t kLongestHeader = size_t{4} << 20;

// The header's JSON, after the checks that make it safe to parse.
std::string_view find_header(const std::string& path, std::string_view bytes) {
  const bool has_json = bytes.size() > 8 && bytes[8] == '{';
  const std::string foreign = has_json ? "" : describe_foreign(bytes);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kInput, "{}: it {}", path, foreign);
  SIMILE_CHECK(bytes.size() >= 8, ErrorKind::kInput,
               "{}: not a safetensors file: {} bytes, fewer than the 8 of the header length", path,
               bytes.size());
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  SIMILE_CHECK(length <= kLongestHeader, ErrorKind::kInput,
               "{}: not a safetensors file: its first 8 bytes promise a header of {} "
               "bytes, at most {} are accepted",
               path, length, kLongestHeader);
  SIMILE_CHECK(length <= bytes.size() - 8, ErrorKind::kInput,
               "{}: truncated: the header alone needs {} bytes, the file has {}; copy or "
               "download it again",
               path, length + 8, bytes.size());
  return bytes.substr(8, length);
}

TensorType read_type(const Json& json, const std::string& where) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(TensorType::kBool); ++i) {
    const auto type = static_cast<TensorType>(i);
    const std::string name = tensor_type_name(type);
    if (json.is_string() && json.get_ref<const std::string&>() == name) return type;
    names += (names.empty() ? "" : ", ") + name;
  }
  throw_error(ErrorKind::kInput, "{}: \"dtype\" must be one of {}, but it is {}", where, names,
              describe_json(json));
}

std::vector<int64_t> read_shape(const Json& json, const std::string& where) {
  SIMILE_CHECK(json.is_array() && json.size() <= 16, ErrorKind::kInput,
               "{}: \"shape\" must be a list of at most 16 sizes, but it is {}", where,
               describe_json(json));
  std::vector<int64_t> shape;
  for (const Json& side : json) {
    SIMILE_CHECK(side.is_number_unsigned() && side.get<uint64_t>() < (uint64_t{1} << 48),
                 ErrorKind::kInput, "{}: \"shape\" holds {}, expected whole numbers below 2^48",
                 where, describe_json(side));
    shape.push_back(side.get<int64_t>());
  }
  return shape;
}

TensorInfo read_tensor(const std::string& path, const std::string& name, const Json& json,
                       size_t data_begin) {
  const std::string where = fmt::format("{}: tensor '{}'", path, name);
  const detail::JsonObject object(json, where);
  TensorInfo tensor;
  tensor.name = name;
  tensor.type = read_type(object.at("dtype"), where);
  tensor.shape = read_shape(object.at("shape"), where);
  SIMILE_CHECK(count_numbers(tensor.shape, tensor_type_width(tensor.type), tensor.size),
               ErrorKind::kInput, "{}: shape {} is too large", where, shape_text(tensor.shape));
  tensor.bytes = static_cast<size_t>(tensor.size) * tensor_type_width(tensor.type);
  const Json& offsets = object.at("data_offsets");
  const bool pair = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
                    offsets[1].is_number_unsigned();
  SIMILE_CHECK(pair, ErrorKind::kInput, "{}: \"data_offsets\" must be [begin, end], but it is {}",
               where, describe_json(offsets));
  const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  SIMILE_CHECK(begin <= end && end - begin == tensor.bytes, ErrorKind::kInput,
               "{}: \"data_offsets\" [{}, {}] must span the {} bytes of a {} tensor of shape {}",
               where, begin, end, tensor.bytes, tensor_type_name(tensor.type),
               shape_text(tensor.shape));
  SIMILE_CHECK(begin < (uint64_t{1} << 62), ErrorKind::kInput,
               "{}: \"data_offsets\" begin at {}, too large", where, begin);
  tensor.offset = data_begin + begin;
  return tensor;
}

// Tensors must fill the bytes after the header, in whatever order, without gaps.
void check_layout(const std::string& path, size_t header_end, size_t present,
                  std::vector<TensorInfo>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  size_t promised = header_end;
  for (const TensorInfo& tensor : tensors) {
    promised = std::max(promised, tensor.offset + tensor.bytes);
  }
  SIMILE_CHECK(
      promised <= present, ErrorKind::kInput,
      "{}: truncated: the header promises {} bytes, the file has {}; copy or download it again",
      path, promised, present);
  size_t end = header_end;
  for (const TensorInfo& tensor : tensors) {
    SIMILE_CHECK(tensor.offset == end, ErrorKind::kInput,
                 "{}: tensor '{}' begins at byte {}, expected {}: tensors {}", path, tensor.name,
                 tensor.offset, end, tensor.offset < end ? "overlap" : "leave a gap");
    end += tensor.bytes;
  }
  SIMILE_CHECK(end == present, ErrorKind::kInput,
               "{}: the header describes {} bytes, the file has {}", path, end, present);
}

constexpr int64_t kBlock = int64_t{1} << 18;  // numbers converted at a time

int64_t size_of(const TensorView& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
}

size_t bytes_of(const TensorView& tensor) {
  return static_cast<size_t>(size_of(tensor)) * tensor_type_width(tensor.type);
}

std::string make_header(const std::vector<TensorView>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  // Ordered, so that the names keep the order of their bytes.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const size_t end = offset + bytes_of(tensor);
    header[tensor.name] = {{"dtype", tensor_type_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

void write_tensor(AtomicFile& file, const TensorView& tensor) {
  const int64_t size = size_of(tensor);
  if (tensor.as_it_is || (tensor.type != TensorType::kF16 && tensor.type != TensorType::kBf16)) {
    return file.write({static_cast<const char*>(tensor.values), bytes_of(tensor)});
  }
  std::vector<uint16_t> halves;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t count = std::min(kBlock, size - begin);
    const float* values = static_cast<const float*>(tensor.values) + begin;
    halves.resize(static_cast<size_t>(count));
    const auto round = tensor.type == TensorType::kF16 ? float_to_half : float_to_bfloat16;
    std::transform(values, values + count, halves.begin(), round);
    file.write({reinterpret_cast<const char*>(halves.data()), halves.size() * 2});
  }
}

constexpr const char* kChecksum = "checksum";

std::string checksum_of(std::map<std::string, std::string> metadata,
                        const std::map<std::string, std::string_view>& arrays) {
  metadata.erase(kChecksum);
  std::string all;
  for (const auto& [name, text] : metadata) all += name + '\0' + text + '\0';
  for (const auto& [name, bytes] : arrays) all += name + '\0' + hash_bytes(bytes);
  return hash_bytes(all);
}

}  // namespace

ParsedTensors parse_safetensors(const std::string& path, std::string_view bytes) {
  const std::string_view header = find_header(path, bytes);
  const Json json = detail::parse_json(header, path + " (header)");
  SIMILE_CHECK(json.is_object(), ErrorKind::kInput, "{}: the header is not a JSON object", path);
  const size_t data_begin = 8 + header.size();
  ParsedTensors parsed;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      const auto is_text = [](const Json& text) { return text.is_string(); };
      SIMILE_CHECK(value.is_object() && std::all_of(value.begin(), value.end(), is_text),
                   ErrorKind::kInput, "{}: \"__metadata__\" must be an object of texts", path);
      value.get_to(parsed.metadata);
    } else {
      parsed.tensors.push_back(read_tensor(path, name, value, data_begin));
    }
  }
  check_layout(path, data_begin, bytes.size(), parsed.tensors);
  return parsed;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : TensorSource(path) {
  MappedFile file(path);
  ParsedTensors parsed = parse_safetensors(path, file.bytes());
  add_file(std::move(file));
  set_tensors(std::move(parsed.tensors));
  metadata_ = std::move(parsed.metadata);
}

void write_safetensors(const std::string& path, const std::vector<TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = make_header(tensors, metadata);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const TensorView& tensor : tensors) {
    assert(tensor.values != nullptr || size_of(tensor) == 0);
    write_tensor(file, tensor);
  }
  file.commit();
}

void write_sealed_tensors(const std::string& path, const std::vector<TensorView>& tensors,
                          std::map<std::string, std::string> metadata) {
  std::map<std::string, std::string_view> arrays;
  for (const TensorView& tensor : tensors) {
    arrays[tensor.name] = {static_cast<const char*>(tensor.values), bytes_of(tensor)};
  }
  metadata[kChecksum] = checksum_of(metadata, arrays);
  write_safetensors(path, tensors, metadata);
}

void check_seal(const SafetensorsFile& file) {
  std::map<std::string, std::string_view> arrays;
  for (const TensorInfo& tensor : file.tensors()) arrays[tensor.name] = file.bytes(tensor);
  const auto found = file.metadata().find(kChecksum);
  SIMILE_CHECK(
      found != file.metadata().end() && found->second == checksum_of(file.metadata(), arrays),
      ErrorKind::kInput, "'{}' is damaged: its checksum is not that of its contents", file.path());
}

}  // namespace simile
