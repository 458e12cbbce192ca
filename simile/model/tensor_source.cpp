// SPDX-License-Identifier: Apache-2.0
#include "simile/model/tensor_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simile/core/error.h"
#include "simile/core/half.h"

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

void convert_strided(const TensorInfo& tensor, const char* data, int64_t begin, int64_t count,
                     float* out) {
  const auto width = static_cast<int64_t>(tensor_type_width(tensor.type));
  const int64_t row = tensor.shape.back(), step = tensor.strides.back() * width;
  for (int64_t done = 0; done < count;) {
    const int64_t first = begin + done, left = std::min(count - done, row - first % row);
    const char* from = data + strided_place(tensor, first) * width;
    for (int64_t i = 0; i < left; ++i) convert(tensor.type, from + i * step, 1, out + done + i);
    done += left;
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
    SIMILE_CHECK(
        is_right, ErrorKind::kInput,
        fmt::format("{}: tensor '{}' gives row {} of a matrix in I8 the scale {}; expected "
                    "a finite number above 0 (0 for a row of zeros): the model is damaged",
                    path_, scales->name, r, scale));
  }
}

void TensorSource::read_floats(const TensorInfo& tensor, int64_t begin, int64_t count,
                               float* out) const {
  const bool readable = tensor.type == TensorType::kF32 || tensor.type == TensorType::kF16 ||
                        tensor.type == TensorType::kBf16;
  const TensorInfo* const scales = row_scales(tensor);
  SIMILE_CHECK(
      readable || scales != nullptr, ErrorKind::kInput,
      fmt::format("{}: tensor '{}' has type {}, expected F32, F16 or BF16{}", path_, tensor.name,
                  tensor_type_name(tensor.type),
                  tensor.type == TensorType::kI8
                      ? fmt::format(", or I8 with one F32 a row in '{}.scale'", tensor.name)
                      : ""));
  if (count == 0) return;
  const char* const data = bytes(tensor).data();
  if (scales != nullptr) {
    scale_rows(data, bytes(*scales).data(), tensor.shape[1], begin, count, out);
  } else if (!tensor.strides.empty()) {
    convert_strided(tensor, data, begin, count, out);
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

}  // namespace simile
