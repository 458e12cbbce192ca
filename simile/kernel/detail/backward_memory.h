// SPDX-License-Identifier: Apache-2.0
// What backward works in. Rows are tokens in the order of the plan.
#pragma once

#include <vector>

#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// Sums over one chunk's tokens for one layer's vectors; the chunks are added up in their order.
struct VectorSums {
  float *qkv_bias, *attention_bias, *attention_norm_weight, *attention_norm_bias, *up_bias,
      *down_bias, *output_norm_weight, *output_norm_bias;
};

// Gradients of what the four matrices of a layer gave, and what they were given, for all tokens.
// With products in bfloat16 the first four are packed (EncoderProducts::pack_left).
struct LayerGradients {
  float* qkv;        // [rows, 3H]
  float* attention;  // [rows, H]
  float* up;         // [rows, U]
  float* down;       // [rows, H]
  float *input_panels, *context_panels, *attended_panels, *inner_panels;
};

// The same for what is no layer's, and for the shifts of scores that all layers share.
struct EncoderSums {
  float *norm_weight, *norm_bias;              // [E], the embeddings'
  float* projection_bias;                      // [H]
  float *final_norm_weight, *final_norm_bias;  // [H]
  float* shift;                                // PositionTables::shift_floats()
};

struct BackwardMemory {
  bool for_weights = true;                    // their gradients are wanted too
  float* hidden;                              // [rows, H], gradient of the hidden states under way
  float* embedded;                            // [rows, E], before the projection
  float* embedded_panels;                     // of what the projection was given
  float* projected;                           // gradient of what it gave, as LayerGradients'
  std::vector<int64_t> panel_first;           // of each chunk, its first token in panels
  int64_t panel_tokens = 0;                   // tokens that panels have room for
  LayerGradients layers[2];                   // of the layer at hand and the one before it
  std::vector<std::vector<VectorSums>> sums;  // [layers][chunks]
  std::vector<EncoderSums> encoder_sums;      // [chunks]
  int64_t sums_floats = 0;
  float* first_sum = nullptr;
};

// Places the parts of `memory` for what is on the tape from `base` on, which holds as many floats
// as the same call with a null base returns.
int64_t carve_backward(const EncoderShape& shape, const TapeContents& tape, BackwardMemory& memory,
                       float* base);

}  // namespace simile
