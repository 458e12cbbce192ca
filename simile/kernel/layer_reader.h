// SPDX-License-Identifier: Apache-2.0
// How an encoder for inference is given its layers' matrices, one layer at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

// A matrix [rows, k] in bytes, as quantise.h makes them.
struct ByteMatrix {
  const int8_t* numbers = nullptr;
  const float* scales = nullptr;  // [rows]
};

// The weights of one layer. For products of bytes a matrix may be in bytes already; what is not has
// null numbers here, and only then its floats are looked at.
struct LayerMatrices : LayerPointers<const float> {
  LayerMatrices(const LayerPointers<const float>& floats) : LayerPointers<const float>(floats) {}

  ByteMatrix qkv, attention, up, down;
};

// What it returned last may be gone once it is called again.
using LayerReader = std::function<LayerMatrices(int64_t layer)>;

}  // namespace simile
