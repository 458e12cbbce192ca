// SPDX-License-Identifier: Apache-2.0
// The transformer encoder for training, on the CPU: forward with dropout, and its gradient.
//
// The function is that of encoder_forward.h with dropout on the embedding, on attention
// probabilities and on the output of attention and feed-forward (Devlin et al. 2019) or where else
// EncoderVariant says, masks as in dropout.h. An optional perturbation [tokens, H] is added to the
// embedding after its LayerNorm and before dropout, or after its projection (SIAR, adversarial
// training). Without dropout the hidden states have the bits of EncoderForward.
//
// The products with the layers' matrices and the projection's, and those that give these matrices'
// gradients, are of floats or bfloat16, as the tape says; all else, and every sum, is in float.
//
// Results do not depend on the number of threads: every sum over tokens has an order given by the
// batch. Threads: simile::thread_count(). Not to be called inside a parallel region for speed.
// Errors: kInput as EncoderForward; kRecipe for a dropout probability outside [0, 1).
#pragma once

#include <functional>
#include <memory>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

struct TapeContents;

// The record of one forward pass that backward needs. The next pass reuses its memory, which grows
// to the largest batch seen: about 4 bytes * tokens * layers * (8H + U) for activations, the
// layers' matrices once, and for backward 4 bytes * tokens * (17H + 2I + 2U).
class EncoderTape {
 public:
  // Errors: kFailed for bfloat16 on a processor without instructions for it.
  explicit EncoderTape(ProductType products = ProductType::kFloat);
  EncoderTape(EncoderTape&&) noexcept;
  EncoderTape& operator=(EncoderTape&&) noexcept;
  ~EncoderTape();

  TapeContents& contents() { return *contents_; }
  int64_t bytes() const;  // held now

 private:
  std::unique_ptr<TapeContents> contents_;
};

// hidden [tokens, H], in the order of the batch's tokens; perturbation is null or [tokens, H].
void encoder_forward_training(const EncoderShape& shape, const EncoderWeights& weights,
                              const PackedBatch& batch, const EncoderDropout& dropout,
                              const float* perturbation, EncoderTape& tape, float* hidden);

// Told of a layer, from the last to the first, once the gradients of its weights have got all that
// a backward pass adds to them; of layers that share weights the first counts.
using LayerDone = std::function<void(int64_t layer)>;

// Adds the gradients of sum(grad_hidden * hidden) to `gradients`. `hidden` must come from the last
// forward pass on this tape, with the same shape, weights, batch and dropout. In the word embedding
// only the rows of ids in the batch change. Null `gradients` skips the work for weights:
// grad_perturbation gets the same bits at about half the cost. grad_perturbation is null or
// [tokens, H] and is overwritten; it is the gradient of the perturbation, or of the normalised
// embedding if there was none. May be called again on the same tape. The calling thread calls
// `done`, if it and `gradients` are given. Errors: kFailed for another batch's tape.
void encoder_backward(const EncoderShape& shape, const EncoderWeights& weights,
                      const PackedBatch& batch, const EncoderDropout& dropout, EncoderTape& tape,
                      const float* grad_hidden, const EncoderGradients* gradients,
                      float* grad_perturbation, const LayerDone& done = {});

}  // namespace simile
