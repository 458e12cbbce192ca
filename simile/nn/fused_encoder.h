// SPDX-License-Identifier: Apache-2.0
// The fused engine of training, of transformers and of static tables: one autograd node over the
// CPU's packed kernels, with a hand-written backward (simile/kernel/encoder_training.h), whose
// matrix products are in floats or in bfloat16; inference() is in floats unless asked otherwise.
// Its bits do not depend on the number of threads.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_training.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

class FusedEncoder final : public TrainableEncoder {
 public:
  // On the CPU. Products that this processor has no instructions for are kFailed in forward().
  explicit FusedEncoder(const EncoderShape& shape, const EncoderMemory& memory = {},
                        ProductType products = ProductType::kFloat);

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation = {},
                        WeightGradients weight_gradients = WeightGradients::kAdd) override;
  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override;
  void watch_gradients(const GradientsDone& done) override;

 private:
  std::unique_ptr<EncoderTape> take_tape();

  ProductType products_;
  torch::Tensor leaf_;  // parameters() as the leaf that ties the node into the graph
  std::shared_ptr<std::vector<std::unique_ptr<EncoderTape>>> free_tapes_;  // memory to reuse
  std::vector<std::pair<int64_t, int64_t>> layer_floats_;  // of gradients(), begin and end
  std::shared_ptr<LayerDone> layer_done_;  // of the backward calls of all forward calls
};

// The means [sequences, H] of the rows [tokens, H] of a batch, differentiable; `shares` [tokens] as
// TokenWeights::of_batch() gives them.
torch::Tensor weighted_mean(const torch::Tensor& rows, const PackedBatch& batch,
                            const std::vector<float>& shares);

// The same engine for a static encoder (simile/kernel/sequence_encoders.h): one autograd node whose
// backward adds to the rows of a batch and to nothing else. Its bits do not depend on the number of
// threads.
//
//   h_i = dropout(sum_k w_k (E[t_k] + perturbation_k) / sum_k w_k)
//
// Dropout is that of the embedding, drawn for sequences in place of tokens. Rows that were zero
// when the weights were last set from the host are not trained.
class TrainableStaticEncoder final : public TrainableEncoder {
 public:
  // On the CPU.
  explicit TrainableStaticEncoder(const EncoderShape& shape, const EncoderMemory& memory = {});

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
