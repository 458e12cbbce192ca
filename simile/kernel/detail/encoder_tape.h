// SPDX-License-Identifier: Apache-2.0
// What EncoderTape holds. Rows are tokens in the order of the plan.
#pragma once

#include <vector>

#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/float_buffer.h"
#include "simile/kernel/detail/weight_panels.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// Hands out parts of one piece of memory, each aligned to 64 bytes; with a null base it only
// counts.
class Carver {
 public:
  explicit Carver(float* base) : base_(base) {}
  float* floats(int64_t count) {
    float* const here = base_ ? base_ + used_ : nullptr;
    used_ += (count + 15) / 16 * 16;
    return here;
  }
  uint8_t* bytes(int64_t count) { return reinterpret_cast<uint8_t*>(floats((count + 3) / 4)); }
  int64_t used() const { return used_; }

 private:
  float* base_;
  int64_t used_ = 0;
};

struct NormTape {
  float* output;             // [rows, H]
  float* normalized;         // [rows, H]
  float* inverse_deviation;  // [rows]
  uint8_t* keep;             // [rows, mask_bytes(H)], null without dropout
};

struct LayerTape {
  float* qkv;           // [rows, 3H]
  float* statistics;    // [rows * heads, 2], sequence by sequence
  float* context;       // [rows, H]
  NormTape attention;   // after the attention's output projection and residual
  float* up;            // [rows, I], before gelu
  NormTape output;      // after the feed-forward and residual: the layer's hidden states
  uint8_t* keep;        // bits on attention probabilities, null without dropout
  float* head_factors;  // [sequences, heads], null without DropHead
};

struct TapeContents {
  BatchPlan plan;
  NormTape embedding;  // output: after dropout, what enters the first layer
  std::vector<LayerTape> layers;

  WeightPanels panels;  // of the pass that ran last
  FloatBuffer activations, gradients, work;

  // The layer's input.
  const float* input(int64_t layer) const {
    return layer == 0 ? embedding.output : layers[static_cast<size_t>(layer) - 1].output.output;
  }
};

}  // namespace simile
