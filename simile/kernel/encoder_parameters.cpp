// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_parameters.h"

#include "simile/kernel/detail/encoder_walk.h"

namespace simile {
namespace {

template <typename T>
EncoderPointers<T> point_into(const EncoderShape& shape, T* flat) {
  return walk_encoder<T>(shape, [next = flat](const WalkedTensor& tensor) mutable {
    T* const here = next;
    next += tensor.size();
    return here;
  });
}

std::string full_name(const WalkedTensor& tensor) {
  const std::string name = std::string(tensor.name) + (tensor.is_weight ? ".weight" : ".bias");
  return tensor.layer < 0 ? name : "encoder.layer." + std::to_string(tensor.layer) + "." + name;
}

}  // namespace

std::vector<ParameterSlot> encoder_layout(const EncoderShape& shape) {
  std::vector<ParameterSlot> slots;
  int64_t offset = 0;
  walk_encoder<const float>(shape, [&](const WalkedTensor& tensor) -> const float* {
    std::vector<int64_t> sides = {tensor.rows};
    if (tensor.columns > 0) sides.push_back(tensor.columns);
    slots.push_back({full_name(tensor), sides, offset, tensor.size(), tensor.decays, tensor.layer});
    offset += tensor.size();
    return nullptr;
  });
  return slots;
}

int64_t encoder_parameter_count(const EncoderShape& shape) {
  const ParameterSlot last = encoder_layout(shape).back();
  return last.offset + last.size;
}

EncoderWeights encoder_weights(const EncoderShape& shape, const float* flat) {
  return {point_into<const float>(shape, flat), nullptr};
}

EncoderGradients encoder_gradients(const EncoderShape& shape, float* flat) {
  return point_into<float>(shape, flat);
}

EncoderWeights encoder_weights_at(const EncoderShape& shape,
                                  const std::vector<const float*>& places) {
  const auto take = [&places, next = size_t{0}](const WalkedTensor&) mutable {
    return places[next++];
  };
  return {walk_encoder<const float>(shape, take), nullptr};
}

}  // namespace simile
