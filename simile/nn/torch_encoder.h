// SPDX-License-Identifier: Apache-2.0
// The engine of training in plain ATen calls, on any device: the encoder that encoder_training.h
// defines, differentiated by autograd, with everything that EncoderVariant says.
//
// Linear layers see packed tokens; attention sees sequences padded to the longest of those about as
// long (torch_layers.h), so that no call of a layer is made for one sequence. Dropout has the masks
// of simile/kernel/dropout.h. It is also the oracle that the fused engine is tested against, in
// float or double. On the CPU the bits are the same for the same number of threads.
//
// With ProductType::kBfloat the operands of every product, weights, queries, keys and shares, and
// its result are rounded to bfloat16, as torch's autocast does; LayerNorm, softmax, residual sums
// and the weights themselves with their gradients stay as they are. kByte is refused (kRecipe).
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "simile/kernel/matrix_product.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

class TorchEncoder final : public TrainableEncoder {
 public:
  explicit TorchEncoder(const EncoderShape& shape, const EncoderMemory& memory = {},
                        ProductType products = ProductType::kFloat);

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation = {},
                        WeightGradients weight_gradients = WeightGradients::kAdd) override;
  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override;

 private:
  ProductType products_;
  std::map<std::string, torch::Tensor> leaves_;  // parts of parameters(), gradients in gradients()
};

// Errors: kRecipe for kByte.
void check_torch_products(ProductType products);

// The same function of a flat array of encoder_layout(), not of a joined encoder, of any floating
// type, on any device; differentiable in `weights` and in `perturbation` [tokens, H], which may be
// undefined. For BERT
//   x_0 = dropout(LayerNorm(word[id] + position[p] + type[t]) + perturbation), p from 0 in each
//         sequence; a = LayerNorm(x + dropout(attention(x)));
//   x' = LayerNorm(a + dropout(down(gelu(up(a)))))
// and encoder_forward.h has the rest. Hidden states [tokens, H].
torch::Tensor encode_with_torch(const EncoderShape& shape, const torch::Tensor& weights,
                                const PackedBatch& batch, const EncoderDropout& dropout = {},
                                const torch::Tensor& perturbation = {},
                                ProductType products = ProductType::kFloat);

}  // namespace simile
