// SPDX-License-Identifier: Apache-2.0
// The transformer encoder for inference, on the CPU.
//
// BERT's post-LayerNorm encoder (Devlin et al. 2019; Vaswani et al. 2017), without dropout, on
// packed tokens. Per token x = norm(word[id] + position[place in its sequence] + type[type id]);
// each layer
//   a = norm(x + W_o context + b_o),  context = softmax(q k^T / sqrt(head size)) v
//                                     per head and sequence
//   x = norm(a + W_down gelu(W_up a + b_up) + b_down),  gelu(z) = z Phi(z) (by erf, not tanh).
//
// Differences of other families (EncoderVariant); everything else is the same:
//   projected         x = W_p norm(...) + b_p, the embeddings having another width than x
//                     (ALBERT, Lan et al. 2020; ELECTRA, Clark et al. 2020)
//   position_offset   the first token takes that row of the position table, and the token of the
//                     number before it, RoBERTa's padding, takes its own and is not counted
//   rotary_base       no position table; q and k of each head are rotated by their place in the
//                     sequence (Su et al. 2021), in local layers with local_rotary_base
//   local_window      layers whose number is no multiple of global_every see w tokens to each side
//   relative_buckets  score (i, j) is shifted by a number learned for head and bucket of j - i
//                     (MPNet, Song et al. 2020; the buckets of Raffel et al. 2020), of which 32
//                     at most are used
//   pre_norm          a = x + attention(norm(x)), x = a + feed-forward(norm(a)), and one more norm
//                     at the end; layer 0 attends to x as it is (ModernBERT, Warner et al. 2024)
//   activation, gated W_down act(W_up a), or W_down (act(W_gate a) * W_value a) (Shazeer 2020)
//
// Products with a layer's matrices and the projection have the ProductType. With kBfloat and kByte
// q k^T and the context of texts from 64 tokens on, in layers without a window, are products of
// bfloat16 where the processor has them. All else is float.
//
// Results, threads and errors: encoder.h; kFailed for products that the processor has no
// instructions for, kInput for wider layers than bytes can be added up over. It uses as many
// threads as help the batch (about 64 tokens each).
#pragma once

#include <cstdint>
#include <memory>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

class WeightPanels;

// Holds a copy of the matrices in the order of the kernels (memory: as much again as the layers'
// matrices, with kBfloat half of it, with kByte a quarter). It reads embeddings, biases and norms
// from `weights`, which must not move or change. Each calling thread keeps a work space: 4 bytes *
// (2H + max(4H, U, E)) for some 130 tokens (or the longest text) a thread.
class EncoderForward final : public Encoder {
 public:
  EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                 ProductType products = ProductType::kFloat);
  // The same with matrices from `read_layer`, called for layers 0, 1, ... once each (shared layers:
  // for layer 0 alone); the layers' matrices of `weights` may be null. So the source of the
  // matrices is never in memory as a whole.
  EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                 const LayerReader& read_layer, ProductType products = ProductType::kFloat);

  const EncoderShape& shape() const { return shape_; }
  int64_t hidden_size() const override { return shape_.hidden; }
  int64_t vocabulary() const override { return shape_.vocabulary; }
  int64_t longest_sequence() const override { return shape_.longest_sequence(); }

  void operator()(const PackedBatch& batch, float* hidden) const override;

 private:
  EncoderShape shape_;
  EncoderWeights weights_;
  std::shared_ptr<const WeightPanels> panels_;
};

// The encoder of a flat array (encoder_layout()), which must outlive it and stay as it is.
std::shared_ptr<const Encoder> make_encoder(const EncoderShape& shape, const float* flat,
                                            ProductType products = ProductType::kFloat);

}  // namespace simile
