// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/random.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/kernel/joined_encoder.h"
#include "simile/model/encoder_family.h"
#include "simile/model/weight_reader.h"

namespace simile {
namespace {

constexpr double kDeviation = 0.02;              // of new weights
constexpr size_t kMostCopied = size_t{1} << 30;  // bytes of views that are written out

bool is_matrix(const ParameterSlot& slot) { return slot.shape.size() == 2; }

// A weight that no half can hold would be read back as infinite.
void check_halves(const std::string& path, const ParameterSlot& slot, const float* values) {
  for (int64_t i = 0; i < slot.size; ++i) {
    SIMILE_CHECK(
        std::abs(values[i]) < 65520.0f, ErrorKind::kFailed,
        fmt::format("{}: tensor '{}' holds {}, which half precision cannot; the largest is "
                    "65504: save it in single precision",
                    path, slot.name, values[i]));
  }
}

// A matrix as bytes, whose memory it owns.
struct QuantisedMatrix {
  std::vector<int8_t> numbers;
  std::vector<float> scales;
};

QuantisedMatrix quantise(const std::string& path, const ParameterSlot& slot, const float* values) {
  QuantisedMatrix out;
  out.numbers.resize(static_cast<size_t>(slot.size));
  out.scales.resize(static_cast<size_t>(slot.shape[0]));
  SIMILE_CHECK(
      quantise_rows(values, slot.shape[0], slot.shape[1], out.numbers.data(), out.scales.data()),
      ErrorKind::kFailed,
      fmt::format("{}: tensor '{}' holds a number that is not finite", path, slot.name));
  return out;
}

// Scales and vectors come first: they are floats, whose places should be multiples of 4.
void write_quantised(const std::string& path, const EncoderConfig& config, const float* flat,
                     const std::vector<TensorView>& others) {
  const EncoderFamily& family = *find_encoder_family(config.model_type);
  std::vector<TensorView> floats, bytes;
  std::vector<QuantisedMatrix> matrices;
  const std::vector<ParameterSlot> slots = encoder_layout(config.shape());
  matrices.reserve(slots.size());
  for (const ParameterSlot& slot : slots) {
    const std::string name = family_tensor_name(family, slot.name);
    if (!is_matrix(slot)) {
      floats.push_back({name, slot.shape, flat + slot.offset});
      continue;
    }
    matrices.push_back(quantise(path, slot, flat + slot.offset));
    floats.push_back({name + ".scale", {slot.shape[0]}, matrices.back().scales.data()});
    bytes.push_back({name, slot.shape, matrices.back().numbers.data(), TensorType::kI8});
  }
  floats.insert(floats.end(), bytes.begin(), bytes.end());
  floats.insert(floats.end(), others.begin(), others.end());
  write_safetensors(path, floats);
}

std::string row_by_row(const TensorSource& source, const TensorInfo& tensor) {
  const std::string_view bytes = source.bytes(tensor);
  const size_t width = tensor_type_width(tensor.type);
  std::string out;
  out.reserve(static_cast<size_t>(tensor.size) * width);
  for (int64_t i = 0; i < tensor.size; ++i) {
    out += bytes.substr(static_cast<size_t>(strided_place(tensor, i)) * width, width);
  }
  return out;
}

}  // namespace

void initialise_encoder_weights(const EncoderConfig& config, uint64_t seed, float* flat) {
  const EncoderShape shape = config.shape();
  if (config.is_joined()) {
    const std::vector<int64_t> offsets = part_offsets(shape);
    for (size_t i = 0; i < config.parts.size(); ++i) {
      const uint64_t own = stream_key(seed, "part " + std::to_string(i));
      initialise_encoder_weights(config.parts[i].encoder, own, flat + offsets[i]);
    }
    return;
  }
  const double deviation =
      shape.averaged ? 1 / std::sqrt(static_cast<double>(shape.hidden)) : kDeviation;
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    float* values = flat + slot.offset;
    if (!slot.decays) {  // biases and LayerNorm
      const bool weight = slot.shape.size() == 1 && slot.name.find(".weight") != std::string::npos;
      std::fill(values, values + slot.size, weight ? 1.0f : 0.0f);
      continue;
    }
    RandomStream stream(seed, "initialise " + slot.name);
    for (int64_t i = 0; i < slot.size; ++i) {
      values[i] = static_cast<float>(deviation * stream.normal());
    }
  }
  const int64_t E = shape.embedding_size();
  float* padding = flat + config.pad_token_id * E;  // the word embedding comes first
  std::fill(padding, padding + E, 0.0f);
}

void round_encoder_weights(const EncoderConfig& config, TensorType type, float* flat) {
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    float* values = flat + slot.offset;
    if (type == TensorType::kF16) round_to_halves(values, slot.size);
    for (int64_t i = 0; type == TensorType::kBf16 && i < slot.size; ++i) {
      values[i] = bfloat16_to_float(float_to_bfloat16(values[i]));
    }
    if (type == TensorType::kI8 && is_matrix(slot)) {
      const QuantisedMatrix matrix = quantise("the model", slot, values);
      for (int64_t i = 0; i < slot.size; ++i) {
        values[i] = static_cast<float>(matrix.numbers[static_cast<size_t>(i)]) *
                    matrix.scales[static_cast<size_t>(i / slot.shape[1])];
      }
    }
  }
}

void write_encoder_weights(const std::string& path, const EncoderConfig& config, const float* flat,
                           TensorType type, const std::vector<TensorView>& others) {
  check_encoder_config(config, "encoder config");
  if (type == TensorType::kI8) return write_quantised(path, config, flat, others);
  const EncoderFamily& family = *find_encoder_family(config.model_type);
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    if (type == TensorType::kF16) check_halves(path, slot, flat + slot.offset);
    tensors.push_back(
        {family_tensor_name(family, slot.name), slot.shape, flat + slot.offset, type});
  }
  tensors.insert(tensors.end(), others.begin(), others.end());
  write_safetensors(path, tensors);
}

std::vector<TensorView> other_tensors(const TensorSource& source, const EncoderConfig& config,
                                      std::vector<std::string>& memory) {
  if (config.variant.averaged) return {};  // the table is all there is
  const EncoderFamily& family = *find_encoder_family(config.model_type);
  const WeightReader reader(source, family);
  std::set<std::string> names;
  std::set<std::pair<size_t, size_t>> places;  // file and offset
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    std::vector<ExpectedSize> shape;
    for (const int64_t side : slot.shape) shape.push_back({side, "config.json"});
    const TensorInfo& found = reader.find(slot.name, shape);
    places.insert({found.file, found.offset});
    names.insert(family_tensor_name(family, slot.name));
  }
  std::vector<TensorView> others;
  size_t copied = 0;
  memory.reserve(source.tensors().size());  // views of its texts must stay
  for (const TensorInfo* tensor : reader.unused()) {
    // A head's matrix that is the word embedding itself, as torch stores it.
    if (tensor->size > 0 && places.count({tensor->file, tensor->offset}) != 0) continue;
    std::string name = tensor->name;
    const bool prefixed = name.compare(0, family.prefix.size(), family.prefix) == 0;
    if (prefixed && names.count(name.substr(family.prefix.size())) == 0) {
      name = name.substr(family.prefix.size());
    }
    if (!names.insert(name).second) continue;  // an encoder's tensor, there with and without prefix
    const void* values = source.bytes(*tensor).data();
    if (!tensor->strides.empty()) {
      copied += tensor->bytes;
      SIMILE_CHECK(copied <= kMostCopied, ErrorKind::kInput,
                   fmt::format("{}: tensors beside the encoder that are views of others have more "
                               "than {} bytes",
                               source.path(), kMostCopied));
      memory.push_back(row_by_row(source, *tensor));
      values = memory.back().data();
    }
    others.push_back({name, tensor->shape, values, tensor->type, true});
  }
  return others;
}

}  // namespace simile
