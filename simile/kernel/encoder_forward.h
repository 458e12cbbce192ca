// SPDX-License-Identifier: Apache-2.0
// The transformer encoder for inference, on the CPU.
//
// BERT's post-LayerNorm encoder (Devlin et al. 2019; Vaswani et al. 2017), without dropout, on
// packed tokens. Per token x = norm(word[id] + position[place in its sequence] + type[type id]);
// each layer
//   a = norm(x + W_o context + b_o),  context = softmax(q k^T / sqrt(head size)) v per head and
//   sequence x = norm(a + W_down gelu(W_up a + b_up) + b_down),  gelu(z) = z Phi(z) (by erf, not
//   tanh).
//
// Results: a token's hidden state depends on its sequence only. It has the same bits alone, in any
// batch, and for any number of threads. Threads: as many as simile::thread_count() when the batch
// is large enough (about 64 tokens each). Errors: kInput for a batch that does not fit the shape:
// ids or type ids outside their tables, sequences longer than the position embedding, offsets that
// do not rise from 0 to the tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/packed.h"

namespace simile {

class WeightPanels;

// Gives the weights of one layer; what it returned last may be gone once it is called again.
using LayerReader = std::function<LayerPointers<const float>(int64_t layer)>;

// Holds a copy of the matrices in the order the processor wants them (memory: as much again as the
// layers' matrices); embeddings, biases and norms are read from `weights`, which must stay in
// place. forward() may be called from several threads at once; each calling thread keeps its own
// work space: 4 bytes * (2H + max(4H, I)) for some 130 tokens (or the longest text) per thread it
// uses.
class EncoderForward {
 public:
  EncoderForward(const EncoderShape& shape, const EncoderWeights& weights);
  // The same with matrices from `read_layer`, called for layers 0, 1, ... once each; those of
  // `weights` may be null. So the source of the matrices is never in memory as a whole.
  EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                 const LayerReader& read_layer);
  EncoderForward(EncoderForward&&) noexcept;
  EncoderForward& operator=(EncoderForward&&) noexcept;
  ~EncoderForward();

  const EncoderShape& shape() const { return shape_; }

  // hidden [tokens, H], in the order of the batch's tokens.
  void operator()(const PackedBatch& batch, float* hidden) const;

 private:
  EncoderShape shape_;
  EncoderWeights weights_;
  std::unique_ptr<WeightPanels> panels_;
};

// The same for one batch; orders the matrices anew on each call, which takes as long as a few
// hundred tokens.
void encoder_forward(const EncoderShape& shape, const EncoderWeights& weights,
                     const PackedBatch& batch, float* hidden);

}  // namespace simile
