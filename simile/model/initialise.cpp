// SPDX-License-Identifier: Apache-2.0
#include "simile/model/initialise.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "simile/core/random.h"
#include "simile/kernel/joined_encoder.h"

namespace simile {
namespace {

constexpr double kDeviation = 0.02;

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

}  // namespace simile
