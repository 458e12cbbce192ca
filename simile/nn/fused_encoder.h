// SPDX-License-Identifier: Apache-2.0
// The fused engine of training: one autograd node over the CPU's packed kernels, with a
// hand-written backward (simile/kernel/encoder_training.h), whose matrix products are in floats or
// in bfloat16; inference() is in floats unless asked otherwise. Its bits do not depend on the
// number of threads.
#pragma once

#include <torch/types.h>

#include <memory>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_training.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

class FusedEncoder final : public TrainableEncoder {
 public:
  explicit FusedEncoder(const EncoderShape& shape);
  // On the CPU. Products that this processor has no instructions for are kFailed in forward().
  FusedEncoder(const EncoderShape& shape, const EncoderMemory& memory,
               ProductType products = ProductType::kFloat);
  ~FusedEncoder() override;

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

}  // namespace simile
