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
// What other families do differently (EncoderVariant), everything else being the same:
//   projected         x = W_p norm(...) + b_p, the embeddings having another width than x
//                     (ALBERT, Lan et al. 2020; ELECTRA, Clark et al. 2020)
//   position_offset   the first token takes that row of the position table (RoBERTa's padding)
//   rotary_base       no position table; q and k of each head are rotated by their place in the
//                     sequence (Su et al. 2021), in local layers with local_rotary_base
//   local_window      layers whose number is no multiple of global_every see w tokens to each side
//   relative_buckets  score (i, j) is shifted by a number learned for head and bucket of j - i
//                     (MPNet, Song et al. 2020; the buckets of Raffel et al. 2020)
//   pre_norm          a = x + attention(norm(x)), x = a + feed-forward(norm(a)), and one more norm
//                     at the end; layer 0 attends to x as it is (ModernBERT, Warner et al. 2024)
//   activation, gated W_down act(W_up a), or W_down (act(W_gate a) * W_value a) (Shazeer 2020)
//
// Results: a token's hidden state depends on its sequence only. It has the same bits alone, in any
// batch, and for any number of threads. Threads: as many as simile::thread_count() when the batch
// is large enough (about 64 tokens each). Errors: kInput for a batch that does not fit the shape:
// ids or type ids outside their tables, sequences longer than its positions, offsets that
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
// work space: 4 bytes * (2H + max(4H, U, E)) for some 130 tokens (or the longest text) per thread
// it uses.
class EncoderForward {
 public:
  EncoderForward(const EncoderShape& shape, const EncoderWeights& weights);
  // The same with matrices from `read_layer`, called for layers 0, 1, ... once each (shared layers:
  // for layer 0 alone); the layers' matrices of `weights` may be null. So the source of the
  // matrices is never in memory as a whole.
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
