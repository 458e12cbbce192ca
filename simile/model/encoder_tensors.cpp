// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_tensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/core/random.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/model/encoder_family.h"

namespace simile {
namespace {

// The config keys behind the sides of a tensor of encoder_layout(), with the sizes: "vocab_size 7".
std::vector<std::string> describe_sides(const ParameterSlot& slot, const EncoderShape& encoder,
                                        const EncoderKeys& family) {
  const auto has = [&](const char* part) { return slot.name.find(part) != std::string::npos; };
  const std::string embedding = encoder.embedding > 0 ? "embedding_size" : family.hidden;
  std::vector<std::string> keys(slot.shape.size(), has("embeddings.") ? embedding : family.hidden);
  if (has("word_embeddings")) keys[0] = "vocab_size";
  if (has("position_embeddings")) keys[0] = family.positions;
  if (has("token_type_embeddings")) keys[0] = family.types;
  if (has("embeddings_project.weight")) keys[1] = embedding;
  if (has("relative_attention_bias")) keys = {"relative_attention_num_buckets", family.heads};
  if (has("self.qkv")) keys[0] = "3 * " + family.hidden;
  if (has("intermediate.")) keys[0] = family.intermediate;
  if (has("intermediate.gate_value")) keys[0] = "2 * " + family.intermediate;
  if (has(".output.dense.weight") && !has("attention.")) keys[1] = family.intermediate;
  for (size_t i = 0; i < keys.size(); ++i) keys[i] += fmt::format(" {}", slot.shape[i]);
  return keys;
}

// "...LayerNorm.weight" -> "...LayerNorm.gamma"; empty for other names.
std::string legacy_name(const std::string& name) {
  if (ends_with(name, "LayerNorm.weight")) return name.substr(0, name.size() - 6) + "gamma";
  if (ends_with(name, "LayerNorm.bias")) return name.substr(0, name.size() - 4) + "beta";
  if (name == "embedding.weight") return "embeddings";  // Model2Vec's, of a static table
  return "";
}

std::vector<std::string> prefixes_of(const EncoderFamily& family) {
  return {"", family.prefix, "model.", "auto_model.", "0.auto_model."};
}

// Null where there is none.
const TensorInfo* find_tensor(const TensorSource& file, const EncoderFamily& family,
                              const std::string& name) {
  for (const std::string& prefix : prefixes_of(family)) {
    for (const std::string& candidate : {name, legacy_name(name)}) {
      if (candidate.empty()) continue;
      if (const TensorInfo* tensor = file.find(prefix + candidate)) return tensor;
    }
  }
  return nullptr;
}

// Up to five.
std::string list_names(const std::vector<std::string>& names) {
  const auto shown = names.begin() + static_cast<int64_t>(std::min<size_t>(names.size(), 5));
  return fmt::format("'{}'{}", fmt::join(names.begin(), shown, "', '"),
                     names.size() > 5 ? ", ..." : "");
}

constexpr double kDeviation = 0.02;              // of new weights
constexpr size_t kMostCopied = size_t{1} << 30;  // bytes of views that are written out

bool is_matrix(const ParameterSlot& slot) { return slot.shape.size() == 2; }

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
      ErrorKind::kFailed, "{}: tensor '{}' holds a number that is not finite", path, slot.name);
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

EncoderTensors find_encoder_tensors(const TensorSource& file, const EncoderConfig& config) {
  check_encoder_config(config, "encoder config");
  const EncoderFamily& family = *find_encoder_family(config.model_type);
  const EncoderShape shape = config.shape();
  EncoderTensors tensors;
  std::set<std::string> used;
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    const std::string name = family_tensor_name(family, slot.name);
    const TensorInfo* tensor = find_tensor(file, family, name);
    if (tensor == nullptr || tensor->shape != slot.shape) {
      const std::string expected =
          fmt::format("{} (config.json: {})", shape_text(slot.shape),
                      fmt::join(describe_sides(slot, shape, family.keys), ", "));
      throw Error(
          ErrorKind::kInput,
          tensor == nullptr
              ? fmt::format("{}: tensor '{}' of shape {} is missing", file.path(), name, expected)
              : fmt::format("{}: tensor '{}' must have shape {}, but it has {}; config.json and "
                            "weights belong to different models",
                            file.path(), tensor->name, expected, shape_text(tensor->shape)));
    }
    used.insert({tensor->name, tensor->name + ".scale"});  // of a matrix in I8
    tensors.found.push_back(tensor);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    if (used.count(tensor.name) == 0) tensors.others.push_back(&tensor);
  }
  return tensors;
}

void tell_others(const TensorSource& file, const EncoderConfig& config,
                 const std::vector<const TensorInfo*>& others, EventSink& events) {
  const std::vector<std::string> prefixes = prefixes_of(*find_encoder_family(config.model_type));
  std::vector<std::string> heads, strangers;
  for (const TensorInfo* tensor : others) {
    const std::string& name = tensor->name;
    // Constants that some versions of the models' code saved beside the weights.
    if (ends_with(name, "position_ids") || ends_with(name, "token_type_ids") ||
        ends_with(name, "inv_freq")) {
      continue;
    }
    const auto is_part = [&](const auto& is_it) {
      return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
        return starts_with(name, prefix) && is_it(name.substr(prefix.size()));
      });
    };
    // Nearly every BERT has a pooler; no vector of a text uses it, and training keeps it.
    if (is_part([](const std::string& rest) { return starts_with(rest, "pooler."); })) continue;
    const bool is_head = is_part(is_head_tensor);
    (is_head ? heads : strangers).push_back(name);
  }
  if (!heads.empty()) {
    events.info(fmt::format("{}: {} tensor(s) of heads on top of the encoder were not used: {}",
                            file.path(), heads.size(), list_names(heads)));
  }
  if (!strangers.empty()) {
    events.warning(fmt::format("{}: {} tensor(s) are no part of the encoder and were not used: {}",
                               file.path(), strangers.size(), list_names(strangers)));
  }
}

void initialise_encoder_weights(const EncoderConfig& config, uint64_t seed, float* flat) {
  const EncoderShape shape = config.shape();
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
    const float* const values = flat + slot.offset;
    for (int64_t i = 0; type == TensorType::kF16 && i < slot.size; ++i) {
      // It would be read back as infinite.
      SIMILE_CHECK(std::abs(values[i]) < 65520.0f, ErrorKind::kFailed,
                   "{}: tensor '{}' holds {}, which half precision cannot; the largest is "
                   "65504: save it in single precision",
                   path, slot.name, values[i]);
    }
    tensors.push_back({family_tensor_name(family, slot.name), slot.shape, values, type});
  }
  tensors.insert(tensors.end(), others.begin(), others.end());
  write_safetensors(path, tensors);
}

std::vector<TensorView> other_tensors(const TensorSource& source, const EncoderConfig& config,
                                      std::vector<std::string>& memory) {
  if (config.variant.averaged) return {};  // the table is all there is
  const EncoderFamily& family = *find_encoder_family(config.model_type);
  const EncoderTensors tensors = find_encoder_tensors(source, config);
  std::set<std::string> names;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    names.insert(family_tensor_name(family, slot.name));
  }
  std::set<std::pair<size_t, size_t>> places;  // file and offset
  for (const TensorInfo* tensor : tensors.found) places.insert({tensor->file, tensor->offset});
  std::vector<TensorView> others;
  size_t copied = 0;
  memory.reserve(source.tensors().size());  // views of its texts must stay
  for (const TensorInfo* tensor : tensors.others) {
    // A head's matrix that is the word embedding itself, as torch stores it.
    if (tensor->size > 0 && places.count({tensor->file, tensor->offset}) != 0) continue;
    std::string name = tensor->name;
    if (starts_with(name, family.prefix) && names.count(name.substr(family.prefix.size())) == 0) {
      name = name.substr(family.prefix.size());
    }
    if (!names.insert(name).second) continue;  // an encoder's tensor, there with and without prefix
    const void* values = source.bytes(*tensor).data();
    if (!tensor->strides.empty()) {
      copied += tensor->bytes;
      SIMILE_CHECK(copied <= kMostCopied, ErrorKind::kInput,
                   "{}: views among the tensors beside the encoder have more than {} bytes",
                   source.path(), kMostCopied);
      memory.push_back(row_by_row(source, *tensor));
      values = memory.back().data();
    }
    others.push_back({name, tensor->shape, values, tensor->type, true});
  }
  return others;
}

}  // namespace simile
