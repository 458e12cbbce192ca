// SPDX-License-Identifier: Apache-2.0
#include "simile/model/tensor_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/half.h"
#include "simile/model/model_files.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

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

// Numbers of a matrix in I8 times the float of their row.
void scale_rows(const char* numbers, const char* scales, int64_t columns, int64_t begin,
                int64_t count, float* out) {
  for (int64_t done = 0; done < count;) {
    const int64_t row = (begin + done) / columns;
    const int64_t end = std::min(count, (row + 1) * columns - begin);
    float scale;
    std::memcpy(&scale, scales + static_cast<size_t>(row) * sizeof scale, sizeof scale);
    for (; done < end; ++done) {
      out[done] = static_cast<float>(static_cast<int8_t>(numbers[begin + done])) * scale;
    }
  }
}

using detail::Json;

constexpr const char* kIndexEnding = ".index.json";
constexpr const char* kByteWeights = "simile-int8.safetensors";

std::string beside(const std::string& path, const std::string& name) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

// Tensor name -> file name.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Json parsed = detail::read_json(path);
  const detail::JsonObject index(parsed, path);
  const Json& places = index.at("weight_map");
  SIMILE_CHECK(places.is_object() && !places.empty(), ErrorKind::kInput,
               "{}: \"weight_map\" must be an object of file names, but it is {}", path,
               detail::describe_json(places));
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : places.items()) {
    SIMILE_CHECK(file.is_string(), ErrorKind::kInput,
                 "{}: the file of tensor '{}' must be a text, but it is {}", path, tensor,
                 detail::describe_json(file));
    const std::string name = file.get<std::string>();
    SIMILE_CHECK(name.find('/') == std::string::npos && name.find('\\') == std::string::npos,
                 ErrorKind::kInput,
                 "{}: \"weight_map\" names the file '{}', which leads out of the model folder",
                 path, name);
    SIMILE_CHECK(
        ends_with(name, ".safetensors") || ends_with(name, ".bin"), ErrorKind::kInput,
        "{}: \"weight_map\" names the file '{}'; expected names ending in .safetensors or .bin",
        path, name);
    files[tensor] = name;
  }
  return files;
}

// Several files with an index.
class ShardedWeights : public TensorSource {
 public:
  explicit ShardedWeights(const std::string& path) : TensorSource(path), places_(read_index(path)) {
    std::set<std::string> names;
    for (const auto& place : places_) names.insert(place.second);
    std::vector<TensorInfo> tensors;
    size_t number = 0;
    for (const std::string& name : names) read_file(name, number++, tensors);
    SIMILE_CHECK(places_.empty(), ErrorKind::kInput,
                 "{}: tensor '{}' is not in '{}', where \"weight_map\" says it is", path,
                 places_.begin()->first, places_.begin()->second);
    set_tensors(std::move(tensors));
  }

 private:
  void read_file(const std::string& name, size_t number, std::vector<TensorInfo>& tensors) {
    const std::string file_path = beside(path(), name);
    SIMILE_CHECK(
        file_exists(file_path), ErrorKind::kInput,
        "{}: \"weight_map\" names the file '{}', which is missing; copy or download it too", path(),
        name);
    MappedFile file(file_path);
    ParsedTensors parsed = ends_with(file_path, ".bin")
                               ? parse_torch_file(file_path, file.bytes())
                               : parse_safetensors(file_path, file.bytes());
    for (TensorInfo& tensor : parsed.tensors) {
      const auto place = places_.find(tensor.name);
      SIMILE_CHECK(place != places_.end() && place->second == name, ErrorKind::kInput,
                   "{}: tensor '{}' is in '{}', but \"weight_map\" does not say so", path(),
                   tensor.name, name);
      places_.erase(place);
      tensor.file = number;
      tensors.push_back(std::move(tensor));
    }
    add_file(std::move(file));
  }

  std::map<std::string, std::string> places_;  // of the tensors not found yet
};

}  // namespace

int64_t strided_place(const TensorInfo& tensor, int64_t number) {
  int64_t place = 0;
  for (size_t side = tensor.shape.size(); side-- > 0;) {
    place += number % tensor.shape[side] * tensor.strides[side];
    number /= tensor.shape[side];
  }
  return place;
}

const char* tensor_type_name(TensorType type) { return kTypes[static_cast<size_t>(type)].name; }

size_t tensor_type_width(TensorType type) { return kTypes[static_cast<size_t>(type)].width; }

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool count_numbers(const std::vector<int64_t>& shape, size_t width, int64_t& size) {
  size = 1;
  for (const int64_t side : shape) {
    if (__builtin_mul_overflow(size, side, &size)) return false;
  }
  int64_t bytes = 0;
  return !__builtin_mul_overflow(size, static_cast<int64_t>(width), &bytes);
}

void TensorSource::set_tensors(std::vector<TensorInfo> tensors) {
  tensors_ = std::move(tensors);
  for (size_t i = 0; i < tensors_.size(); ++i) index_[tensors_[i].name] = i;
}

const TensorInfo* TensorSource::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::string_view TensorSource::bytes(const TensorInfo& tensor) const {
  return file_bytes(tensor.file).substr(tensor.offset, tensor.bytes);
}

const void* TensorSource::numbers_in_place(const TensorInfo& tensor, TensorType type) const {
  const char* data = file_bytes(tensor.file).data() + tensor.offset;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % tensor_type_width(type) == 0;
  return tensor.type == type && tensor.strides.empty() && aligned ? data : nullptr;
}

const float* TensorSource::floats_in_place(const TensorInfo& tensor) const {
  return static_cast<const float*>(numbers_in_place(tensor, TensorType::kF32));
}

const uint16_t* TensorSource::halves_in_place(const TensorInfo& tensor) const {
  return static_cast<const uint16_t*>(numbers_in_place(tensor, TensorType::kF16));
}

const TensorInfo* TensorSource::row_scales(const TensorInfo& tensor) const {
  if (tensor.type != TensorType::kI8 || tensor.shape.size() != 2 || !tensor.strides.empty()) {
    return nullptr;
  }
  const TensorInfo* scale = find(tensor.name + ".scale");
  const bool fits = scale != nullptr && scale->type == TensorType::kF32 &&
                    scale->shape == std::vector<int64_t>{tensor.shape[0]} && scale->strides.empty();
  return fits ? scale : nullptr;
}

void TensorSource::check_row_scales(const TensorInfo& tensor) const {
  const TensorInfo* const scales = row_scales(tensor);
  if (scales == nullptr) return;
  const std::string_view numbers = bytes(tensor);
  const auto columns = static_cast<size_t>(tensor.shape[1]);
  for (int64_t r = 0; r < tensor.shape[0]; ++r) {
    float scale;
    read_floats(*scales, r, 1, &scale);
    const std::string_view row = numbers.substr(static_cast<size_t>(r) * columns, columns);
    const bool is_right = scale == 0 ? row.find_first_not_of('\0') == std::string_view::npos
                                     : scale > 0 && std::isfinite(scale);
    SIMILE_CHECK(is_right, ErrorKind::kInput,
                 "{}: tensor '{}' gives row {} of a matrix in I8 the scale {}; expected a finite "
                 "number above 0 (0 for a row of zeros): the model is damaged",
                 path_, scales->name, r, scale);
  }
}

void TensorSource::read_floats(const TensorInfo& tensor, int64_t begin, int64_t count,
                               float* out) const {
  const bool readable = tensor.type == TensorType::kF32 || tensor.type == TensorType::kF16 ||
                        tensor.type == TensorType::kBf16;
  const TensorInfo* const scales = row_scales(tensor);
  SIMILE_CHECK(readable || scales != nullptr, ErrorKind::kInput,
               "{}: tensor '{}' has type {}, expected F32, F16 or BF16{}", path_, tensor.name,
               tensor_type_name(tensor.type),
               tensor.type == TensorType::kI8
                   ? fmt::format(", or I8 with one F32 a row in '{}.scale'", tensor.name)
                   : "");
  if (count == 0) return;
  const char* const data = bytes(tensor).data();
  if (scales != nullptr) {
    scale_rows(data, bytes(*scales).data(), tensor.shape[1], begin, count, out);
  } else if (!tensor.strides.empty()) {
    const auto width = static_cast<int64_t>(tensor_type_width(tensor.type));
    for (int64_t i = 0; i < count; ++i) {
      convert(tensor.type, data + strided_place(tensor, begin + i) * width, 1, out + i);
    }
  } else {
    const size_t width = tensor_type_width(tensor.type);
    convert(tensor.type, data + static_cast<size_t>(begin) * width, count, out);
  }
}

void TensorSource::release(const TensorInfo& tensor, int64_t begin, int64_t count) const {
  if (!tensor.strides.empty()) return;
  const size_t width = tensor_type_width(tensor.type);
  files_[tensor.file].release(tensor.offset + static_cast<size_t>(begin) * width,
                              static_cast<size_t>(count) * width);
}

const std::vector<std::string>& weight_file_names() {
  static const std::vector<std::string> names = {
      "model.safetensors", kByteWeights, "model.safetensors.index.json", "pytorch_model.bin",
      "pytorch_model.bin.index.json"};
  return names;
}

const char* weight_file_name(TensorType type) {
  return type == TensorType::kI8 ? kByteWeights : "model.safetensors";
}

std::string find_weights(const std::string& folder) {
  for (const std::string& name : weight_file_names()) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) return path;
    SIMILE_CHECK(!std::filesystem::is_symlink(path), ErrorKind::kInput,
                 "'{}' is a link to a file that does not exist; copy the file itself, or fetch the "
                 "model again: simile get ORG/NAME",
                 path);
  }
  throw_error(ErrorKind::kInput, "'{}' {}", folder, explain_no_weights(list_model_files(folder)));
}

std::unique_ptr<TensorSource> open_weights(const std::string& path) {
  if (ends_with(path, kIndexEnding)) return std::make_unique<ShardedWeights>(path);
  if (ends_with(path, ".bin")) return std::make_unique<TorchFile>(path);
  return std::make_unique<SafetensorsFile>(path);
}

std::vector<std::string> weight_files(const std::string& path) {
  std::vector<std::string> files = {path};
  if (!ends_with(path, kIndexEnding)) return files;
  std::set<std::string> names;
  for (const auto& place : read_index(path)) names.insert(place.second);
  for (const std::string& name : names) files.push_back(beside(path, name));
  return files;
}

}  // namespace simile
