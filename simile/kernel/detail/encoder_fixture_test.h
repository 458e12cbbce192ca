// SPDX-License-Identifier: Apache-2.0
// Random encoders and batches for tests and benchmarks.
#pragma once

#include <algorithm>
#include <vector>

#include "simile/core/random.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// layers, hidden, heads, intermediate; a small vocabulary of 50 and 520 positions.
inline EncoderShape small_shape(int64_t layers, int64_t hidden, int64_t heads,
                                int64_t intermediate) {
  EncoderShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = heads;
  shape.intermediate = intermediate;
  shape.vocabulary = 50;
  shape.positions = 520;
  shape.types = 2;
  return shape;
}

// Normal weights; norms' weights around 1.
inline std::vector<float> random_parameters(const EncoderShape& shape, double deviation,
                                            uint64_t seed = 1) {
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(shape)));
  RandomStream stream(seed, "parameters");
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    const bool scale = slot.shape.size() == 1 && slot.name.find(".weight") != std::string::npos;
    for (int64_t i = 0; i < slot.size; ++i) {
      flat[slot.offset + i] = static_cast<float>((scale ? 1.0 : 0.0) + deviation * stream.normal());
    }
  }
  return flat;
}

inline PackedBatch random_batch(const EncoderShape& shape, const std::vector<int32_t>& lengths,
                                uint64_t seed = 1) {
  PackedBatch batch;
  batch.offsets = {0};
  RandomStream stream(seed, "batch");
  for (const int32_t length : lengths) {
    for (int32_t i = 0; i < length; ++i) {
      batch.ids.push_back(static_cast<int32_t>(stream.below(shape.vocabulary)));
      batch.type_ids.push_back(
          static_cast<int32_t>(stream.below(std::max<int64_t>(shape.types, 1))));
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

}  // namespace simile
