// SPDX-License-Identifier: Apache-2.0
// The walk through the encoder's layers (chunk_forward.cpp), what EncoderTape holds of it, what
// backward works in, and from what it left of each token to the gradients of the weights. Rows are
// tokens in the order of the plan.
#pragma once

#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/weight_panels.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
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
  float* output;             // [rows, width]
  float* normalized;         // [rows, width]
  float* inverse_deviation;  // [rows]
  uint8_t* keep;             // [rows, mask_bytes(width)], null without dropout
};

// With pre_norm, the norms are those before attention and feed-forward (of layer 0 no first one),
// and `keep` is still that of what comes out of these.
struct LayerTape {
  float* qkv;           // [rows, 3H], rotated
  float* statistics;    // [rows * heads, 2], sequence by sequence
  float* context;       // [rows, H]
  NormTape attention;   // after the attention's output projection and residual
  float* up;            // [rows, U], before the activation
  NormTape output;      // after the feed-forward and residual: the layer's hidden states
  uint8_t* inner_keep;  // bits [rows, mask_bytes(I)] behind the activation, null without dropout
  float* head_factors;  // [sequences, heads], null without DropHead
};

struct TapeContents {
  explicit TapeContents(ProductType type) : panels(type) {}

  BatchPlan plan;
  PositionTables tables;
  NormTape embedding = {};     // [rows, E], output: after dropout
  float* projected = nullptr;  // [rows, H], the embedding projected; null without projection
  std::vector<LayerTape> layers;
  float* stream =
      nullptr;          // [rows, H], with pre_norm: what attention and feed-forward are added to
  NormTape final = {};  // with pre_norm

  WeightPanels panels;  // of the pass that ran last
  FloatBuffer activations, gradients, work;

  // What enters the first layer.
  const float* first() const { return projected ? projected : embedding.output; }
  // What a layer's attention was given, and its feed-forward.
  const float* attention_input(const EncoderShape& shape, int64_t layer) const {
    if (layer == 0) return first();
    return shape.pre_norm ? layers[static_cast<size_t>(layer)].attention.output
                          : layers[static_cast<size_t>(layer) - 1].output.output;
  }
  const float* feed_forward_input(const EncoderShape& shape, int64_t layer) const {
    const LayerTape& tape = layers[static_cast<size_t>(layer)];
    return shape.pre_norm ? tape.output.output : tape.attention.output;
  }
  const float* result(const EncoderShape& shape) const {
    return shape.pre_norm ? final.output : attention_input(shape, shape.layers);
  }
};

// Places the parts of the tape for its plan from `base` on, which holds as many floats as the same
// call with a null base returns.
int64_t carve_tape(const EncoderShape& shape, const EncoderDropout& dropout, TapeContents& tape,
                   float* base);

// One forward pass over a batch cut by `plan`; with a tape, `plan`, `tables` and `panels` are its.
struct ForwardPass {
  const EncoderShape& shape;
  const EncoderWeights& weights;
  const WeightPanels& panels;
  const PositionTables& tables;
  const BatchPlan& plan;
  const PackedBatch& batch;
  float* hidden;                        // [tokens, H], in the order of the batch
  TapeContents* tape = nullptr;         // carved for the plan; null: inference
  EncoderDropout dropout = {};          // without a tape: none
  const float* perturbation = nullptr;  // [tokens, H] or null
};

// The one walk through the layers, for inference and for training: all chunks, on up to `threads`
// threads, with work space from `memory`.
//
// The steps, and so the bits, are the same; what differs is where their results go. With a tape
// each goes to its own place there, for backward, and dropout and the perturbation apply; without
// one the results share a piece of work space that stays in the second-level cache, and are gone.
void run_forward(const ForwardPass& pass, int64_t threads, FloatBuffer& memory);

// Gradients of what the four matrices of a layer gave, of one chunk's tokens.
struct ChunkGradients {
  float* qkv;        // [rows, 3H]
  float* attention;  // [rows, H]
  float* up;         // [rows, U]
  float* down;       // [rows, H]
};

// The gradients of all tokens, and what the matrices were given. With products in bfloat16 they are
// packed (MatrixProducts::pack_left).
struct LayerGradients : ChunkGradients {
  float *input_panels, *context_panels, *attended_panels, *inner_panels;
};

// What backward works in.
struct BackwardMemory {
  bool for_weights = true;           // their gradients are wanted too
  float* hidden;                     // [rows, H], gradient of the hidden states under way
  float* embedded;                   // [rows, E], before the projection
  float* embedded_panels;            // of what the projection was given
  float* projected;                  // gradient of what it gave, as LayerGradients'
  std::vector<int64_t> panel_first;  // of each chunk, its first token in panels
  int64_t panel_tokens = 0;          // tokens that panels have room for
  LayerGradients layers[2];          // of the layer at hand and the one before it
  // For each chunk: sums over its tokens for the encoder's vectors (biases and norms), matrices
  // being null, and in place of `relative` for PositionTables::shift().
  std::vector<EncoderGradients> sums;
  int64_t sums_floats = 0;
  float* first_sum = nullptr;
};

// Places the parts of `memory` for what is on the tape from `base` on, which holds as many floats
// as the same call with a null base returns.
int64_t carve_backward(const EncoderShape& shape, const TapeContents& tape, BackwardMemory& memory,
                       float* base);

// The tiles of a layer's matrices; of layer -1, of the projection, if there is one.
std::vector<WeightTile> weight_tiles(const EncoderShape& shape, const MatrixProducts& products,
                                     const BackwardMemory& memory, int64_t layer,
                                     const EncoderGradients& weights);

// Adds the chunks' sums, in their order, to what the encoder has of a layer's vectors; of layer -1,
// of those that are no layer's.
void add_sums(const EncoderShape& shape, const PositionTables& tables,
              const std::vector<EncoderGradients>& chunks, int64_t layer,
              const EncoderGradients& weights);

// Adds the gradient rows [rows, E] to the embeddings' rows: by columns, so that each row's sum is
// in the order of the tokens for any number of threads.
void add_embeddings(const EncoderShape& shape, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients);

}  // namespace simile
