// SPDX-License-Identifier: Apache-2.0
// The trainable masked-language-model head (simile/kernel/masked_lm.h has the formulas): its
// weights and gradients as flat tensors beside an encoder's, one form for each engine.
//
// The output matrix is the encoder's word embedding: backward() adds to both gradients. One thread.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "simile/kernel/masked_lm.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

class MaskedLmModule {
 public:
  virtual ~MaskedLmModule() = default;
  MaskedLmModule(const MaskedLmModule&) = delete;
  MaskedLmModule& operator=(const MaskedLmModule&) = delete;

  // Floats [Q] on the device, in the order of masked_lm_layout(); constants to autograd. Whoever
  // uses the gradients sets them back to zero.
  const torch::Tensor& parameters() const { return parameters_; }
  const torch::Tensor& gradients() const { return gradients_; }
  std::vector<float> to_host() const { return copy_to_host(parameters_); }
  void from_host(const float* weights) { copy_from_host(weights, parameters_); }

  // The losses of `masked`, of hidden states [tokens, H] that `encoder` gave. Errors (kInput): a
  // word outside the vocabulary.
  virtual VocabularyLoss losses(const TrainableEncoder& encoder, const torch::Tensor& hidden,
                                const MaskedTokens& masked) = 0;

  // The same, and the gradients of scale * sum: through `hidden`, which encoder.forward() gave with
  // WeightGradients::kAdd, into encoder.gradients(), and into gradients().
  virtual VocabularyLoss backward(TrainableEncoder& encoder, const torch::Tensor& hidden,
                                  const MaskedTokens& masked, float scale) = 0;

 protected:
  // Zero at first. Errors (kInput): embeddings of another width than the hidden states.
  MaskedLmModule(const EncoderShape& shape, torch::Device device);

 private:
  torch::Tensor parameters_, gradients_;
};

// The fused engine's: the kernels of simile/kernel/masked_lm.h.
std::unique_ptr<MaskedLmModule> make_fused_masked_lm(const EncoderShape& shape,
                                                     ProductType products = ProductType::kFloat);

// In plain ATen calls on any device; the softmax over the vocabulary is in memory for a few hundred
// tokens at a time, on a GPU a few thousand. `products` as make_torch_encoder().
std::unique_ptr<MaskedLmModule> make_torch_masked_lm(const EncoderShape& shape,
                                                     torch::Device device = torch::kCPU,
                                                     ProductType products = ProductType::kFloat);

}  // namespace simile
