// SPDX-License-Identifier: Apache-2.0
// The encoder in plain ATen calls, differentiable by autograd in every argument.
//
// Short and readable rather than fast: the oracle that the CPU's fused node (encoder_node.h) is
// tested against, in float or double, and the form that runs on other devices. Knows everything
// that EncoderVariant says.
#pragma once

#include <torch/types.h>

#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/packed.h"

namespace simile {

// Hidden states [tokens, H] of a packed batch, as encoder_forward.h defines them, with
// dropout as encoder_training.h says: of BERT
//   x_0 = dropout(LayerNorm(word[id] + position[p] + type[t]) + perturbation), p from 0 in each
//   sequence; a = LayerNorm(x + dropout(attention(x)));  x' = LayerNorm(a +
//   dropout(down(gelu(up(a)))))
// `weights` is the flat array of encoder_layout(), on any device and of any floating type.
// `perturbation` [tokens, H] may be undefined. Dropout draws from torch's generator.
torch::Tensor encode_tokens_aten(const EncoderShape& shape, const torch::Tensor& weights,
                                 const PackedBatch& batch, double hidden_dropout = 0,
                                 double attention_dropout = 0,
                                 const torch::Tensor& perturbation = {});

}  // namespace simile
