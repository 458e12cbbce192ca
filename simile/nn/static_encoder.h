// SPDX-License-Identifier: Apache-2.0
// The fused engine of a static encoder (simile/kernel/static_encoder.h): one autograd node whose
// backward adds to the rows of a batch and to nothing else. Its bits do not depend on the number of
// threads.
//
//   h_i = dropout(sum_k w_k (E[t_k] + perturbation_k) / sum_k w_k)
//
// Dropout is that of the embedding, drawn for sequences in place of tokens. Rows that were zero
// when the weights were last set from the host are not trained.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "simile/nn/trainable_encoder.h"

namespace simile {

// The means [sequences, H] of the rows [tokens, H] of a batch, differentiable; `shares` [tokens] as
// TokenWeights::of_batch() gives them.
torch::Tensor weighted_mean(const torch::Tensor& rows, const PackedBatch& batch,
                            const std::vector<float>& shares);

class TrainableStaticEncoder final : public TrainableEncoder {
 public:
  explicit TrainableStaticEncoder(const EncoderShape& shape);
  TrainableStaticEncoder(const EncoderShape& shape, const EncoderMemory& memory);  // on the CPU

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation = {},
                        WeightGradients weight_gradients = WeightGradients::kAdd) override;
  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override;

 private:
  void weights_set() override;

  torch::Tensor leaf_;  // parameters() as the leaf that ties the node into the graph
  std::shared_ptr<const std::vector<uint8_t>> trained_;  // [V]
};

}  // namespace simile
