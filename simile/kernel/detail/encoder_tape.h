// SPDX-License-Identifier: Apache-2.0
// The walk through the encoder's layers (chunk_forward.cpp), the values that EncoderTape keeps, the
// memory of backward, and the gradients of the weights. Rows are tokens in plan order.
#pragma once

#include <algorithm>
#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// Hands out parts of one piece of memory, aligned to 64 bytes; with a null base it only counts.
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

struct LayerPanels {
  const float* qkv;
  const float* attention;
  const float* up;
  const float* down;
};

enum class PanelUse {
  kForward,   // y = x W^T
  kBackward,  // dx = dy W
};

// A copy of an encoder's matrices in the order in which the matrix product reads them.
class WeightPanels {
 public:
  explicit WeightPanels(ProductType products) : products_(products) {}

  // The products that multiply with them.
  const MatrixProducts& products() const { return products_; }

  // Copies all matrices (in parallel), into memory that is reused from call to call. With
  // `read_layer` the layers' matrices come from it, layer by layer: a layer's source is no longer
  // used when the next is requested. Layers that share weights are requested once.
  void pack(const EncoderShape& shape, const EncoderWeights& weights, PanelUse use,
            const LayerReader& read_layer = {});
  int64_t size() const { return memory_.size(); }  // floats
  const LayerPanels& layer(int64_t i) const {
    return layers_[std::min(static_cast<size_t>(i), layers_.size() - 1)];
  }
  const float* projection() const { return projection_; }  // null: there is none

 private:
  struct Piece;
  int64_t count_floats(int64_t rows, int64_t columns, PanelUse use) const;
  float* list_matrix(const float* w, const ByteMatrix& bytes, int64_t rows, int64_t columns,
                     PanelUse use, std::vector<Piece>& pieces);
  void copy(const std::vector<Piece>& pieces, PanelUse use, bool parallel) const;

  MatrixProducts products_;
  FloatBuffer memory_;
  float* next_ = nullptr;  // where the next matrix's panels go
  const float* projection_ = nullptr;
  std::vector<LayerPanels> layers_;
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

  // The input of the first layer.
  const float* first() const { return projected ? projected : embedding.output; }
  // The inputs of a layer's attention and of its feed-forward.
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

// Places the tape's parts for its plan from `base` on; with a null base returns how many floats.
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
// The steps, and so the bits, are the same; only the places of their results differ. With a tape
// each goes to its own place there, for backward, and dropout and the perturbation apply; without
// one the results share a piece of work space that stays in the second-level cache, and are gone.
void run_forward(const ForwardPass& pass, int64_t threads, FloatBuffer& memory);

// Gradients of the outputs of a layer's four matrices, for one chunk's tokens.
struct ChunkGradients {
  float* qkv;        // [rows, 3H]
  float* attention;  // [rows, H]
  float* up;         // [rows, U]
  float* down;       // [rows, H]
};

// The gradients of all tokens, and the inputs of the matrices. With products in bfloat16 they are
// packed (MatrixProducts::pack_left).
struct LayerGradients : ChunkGradients {
  float *input_panels, *context_panels, *attended_panels, *inner_panels;
};

// Working memory of backward.
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

// Places the parts of `memory` that this tape needs from `base` on. A call with a null base returns
// the number of floats needed.
int64_t carve_backward(const EncoderShape& shape, const TapeContents& tape, BackwardMemory& memory,
                       float* base);

// The tiles of a layer's matrices; of layer -1, of the projection, if there is one.
std::vector<WeightTile> weight_tiles(const EncoderShape& shape, const MatrixProducts& products,
                                     const BackwardMemory& memory, int64_t layer,
                                     const EncoderGradients& weights);

// Adds the chunks' sums, in order, to a layer's vectors in the encoder; layer -1: to the others.
void add_sums(const EncoderShape& shape, const PositionTables& tables,
              const std::vector<EncoderGradients>& chunks, int64_t layer,
              const EncoderGradients& weights);

// Adds the gradient rows [rows, E] to the embeddings' rows: by columns, so that each row's sum is
// in the order of the tokens for any number of threads.
void add_embeddings(const EncoderShape& shape, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients);

}  // namespace simile
