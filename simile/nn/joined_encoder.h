// SPDX-License-Identifier: Apache-2.0
// A joined encoder in training (simile/kernel/sequence_encoders.h): the encoders of its parts, of
// either engine, over parts of one flat tensor of weights and one of gradients.
//
//   h = [w_1 u_1 | w_2 u_2 | ...],  u_i = v_i / |v_i|
//
// Gradients flow through the lengths; a v_i of zeros has none. The weights w_i are not trained.
// Each part draws its own dropout (dropout_of_part()). A perturbation [tokens, perturbed_size()]
// holds, one behind the other, those of the parts that perturbed_parts() names; the others are not
// perturbed.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "simile/nn/trainable_encoder.h"

namespace simile {

class TrainableJoinedEncoder final : public TrainableEncoder {
 public:
  // Makes the encoder of a part over its memory.
  using MakePart = std::function<std::unique_ptr<TrainableEncoder>(const EncoderShape& shape,
                                                                   const EncoderMemory& memory)>;
  TrainableJoinedEncoder(const EncoderShape& shape, torch::Device device, const MakePart& make);

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation = {},
                        WeightGradients weight_gradients = WeightGradients::kAdd) override;
  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override;
  void watch_gradients(const GradientsDone& done) override;
  void weights_set() override;

 private:
  template <typename Encode>
  torch::Tensor join(const PackedBatch& batch, const Encode& encode) const;
  std::vector<torch::Tensor> split_perturbation(const torch::Tensor& perturbation,
                                                const PackedBatch& batch) const;

  std::vector<int64_t> offsets_;  // part_offsets()
  std::vector<std::unique_ptr<TrainableEncoder>> parts_;
};

}  // namespace simile
