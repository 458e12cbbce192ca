// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_parameters.h"

#include <utility>

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

// The parts' tensors one behind the other.
std::vector<ParameterSlot> joined_layout(const EncoderShape& shape) {
  std::vector<ParameterSlot> slots;
  int64_t offset = 0;
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    for (ParameterSlot& slot : encoder_layout(shape.parts[i].shape)) {
      slot.name = "parts." + std::to_string(i) + "." + slot.name;
      slot.part = static_cast<int64_t>(i);
      slot.offset = offset;
      offset += slot.size;
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

}  // namespace

std::vector<ParameterSlot> encoder_layout(const EncoderShape& shape) {
  if (shape.is_joined()) return joined_layout(shape);
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
