// SPDX-License-Identifier: Apache-2.0
// The engines behind TrainableEncoder (trainable_encoder.h). Memory that is not given is allocated
// on the CPU.
#pragma once

#include <torch/types.h>

#include <memory>

#include "simile/kernel/matrix_product.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

// The fused engine, on the CPU: one autograd node over the packed kernels, with a hand-written
// backward (simile/kernel/encoder_training.h), whose matrix products are in floats or in bfloat16;
// inference() is in floats unless asked otherwise. Its bits do not depend on the number of threads.
// Products that this processor has no instructions for are kFailed in forward().
//
// With a static encoder (simile/kernel/sequence_encoders.h) backward adds only to a batch's rows:
//
//   h_i = dropout(sum_k (E[t_k] + perturbation_k) / n_i)
//
// Dropout is that of the embedding, drawn for sequences in place of tokens. Rows that were zero
// when the weights were last set from the host are not trained. `products` do not matter.
std::unique_ptr<TrainableEncoder> make_fused_encoder(const EncoderShape& shape,
                                                     const EncoderMemory& memory = {},
                                                     ProductType products = ProductType::kFloat);

// The engine in plain ATen calls, on any device: the encoder that encoder_training.h defines,
// differentiated by autograd, with everything that EncoderVariant says.
//
// Linear layers see packed tokens; attention sees sequences padded to the longest of those about as
// long (torch_layers.h), so that no call of a layer is made for one sequence. Dropout has the masks
// of simile/kernel/dropout.h. It is also the oracle that the fused engine is tested against, in
// float or double. On the CPU the bits are the same for the same number of threads.
//
// With ProductType::kBfloat the operands of every product, weights, queries, keys and shares, and
// its result are rounded to bfloat16, as torch's autocast does; LayerNorm, softmax, residual sums
// and the weights themselves with their gradients stay as they are. kByte is refused (kRecipe).
std::unique_ptr<TrainableEncoder> make_torch_encoder(const EncoderShape& shape,
                                                     const EncoderMemory& memory = {},
                                                     ProductType products = ProductType::kFloat);

// Errors: kRecipe for kByte.
void check_torch_products(ProductType products);

// The same function of a flat array of encoder_layout() of any floating type, on any device;
// differentiable in `weights` and in `perturbation` [tokens, H], which may be undefined. For BERT
//   x_0 = dropout(LayerNorm(word[id] + position[p] + type[t]) + perturbation), p from 0 in each
//         sequence; a = LayerNorm(x + dropout(attention(x)));
//   x' = LayerNorm(a + dropout(down(gelu(up(a)))))
// and encoder_forward.h has the rest. Hidden states [tokens, H].
torch::Tensor encode_with_torch(const EncoderShape& shape, const torch::Tensor& weights,
                                const PackedBatch& batch, const EncoderDropout& dropout = {},
                                const torch::Tensor& perturbation = {},
                                ProductType products = ProductType::kFloat);

}  // namespace simile
