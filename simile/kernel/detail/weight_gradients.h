// SPDX-License-Identifier: Apache-2.0
// What backward works in, and from what it left of each token to the gradients of the weights. Rows
// are tokens in the order of the plan.
#pragma once

#include <vector>

#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/encoder.h"
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

// The tiles of a layer's matrices, and of the projection, if there is one.
std::vector<WeightTile> layer_tiles(const EncoderShape& shape, const EncoderProducts& products,
                                    const BackwardMemory& memory, const LayerGradients& tokens,
                                    const LayerPointers<float>& weights);
std::vector<WeightTile> projection_tiles(const EncoderShape& shape, const EncoderProducts& products,
                                         const BackwardMemory& memory,
                                         const EncoderGradients& weights);

// Adds the chunks' sums, in their order, to what the encoder has of one layer's vectors, and of the
// others.
void add_sums(const EncoderShape& shape, const std::vector<VectorSums>& chunks,
              const LayerPointers<float>& weights);
void add_encoder_sums(const EncoderShape& shape, const PositionTables& tables,
                      const std::vector<EncoderSums>& chunks, const EncoderGradients& weights);

// Adds the gradient rows [rows, E] to the embeddings' rows: by columns, so that each row's sum is
// in the order of the tokens for any number of threads.
void add_embeddings(const EncoderShape& shape, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients);

}  // namespace simile
