// SPDX-License-Identifier: Apache-2.0
// Attention of padded sequences by libtorch: the one place that knows what its versions offer.
// libtorch 2 has the whole as one operator, which never writes the shares down (FlashAttention, Dao
// et al. 2022, on GPUs); where it cannot be used, and in libtorch 1, it is made of products.
#pragma once

#include <torch/types.h>

namespace simile {

struct AttentionInput {
  torch::Tensor query, key, value;  // [n, heads, L, d], of one type
  torch::Tensor hidden;             // [n or 1, 1, 1 or L, L]: keys not seen; not defined: none
  torch::Tensor shift = {};         // [heads, L, L], added to scores; not defined: none
  torch::Tensor factors = {};       // [n, heads, L, L], on the shares (dropout); not defined: none
};

// softmax(query key^T / sqrt(d) + shift) value, the softmax in float or double: [n, heads, L, d] of
// the type of `value`. Rows that see no key, of padding, are finite. Differentiable.
torch::Tensor attention_contexts(const AttentionInput& input);

}  // namespace simile
