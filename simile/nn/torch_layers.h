// SPDX-License-Identifier: Apache-2.0
// Attention and dropout by libtorch, on the device of the tensors they are given.
//
// Attention of padded sequences: this is the one place that knows what the versions of libtorch
// offer. libtorch 2 has the whole as one operator, which never writes the shares down
// (FlashAttention, Dao et al. 2022, on GPUs); where it cannot be used, and in libtorch 1, it is
// made of products.
//
// Dropout: the masks of simile/kernel/dropout.h, Philox 4x32-10 in int64 arithmetic, where the
// product of two 32-bit words wraps to its 64 bits. Every factor has the bits that DropoutMask
// gives the same place.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "simile/kernel/dropout.h"

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

// Factors 0 or mask.scale(), [rows, width], of rows first_row ... of a mask with
// mask_bytes(width) bytes a row. `like` gives type and device.
torch::Tensor dropout_rows(const DropoutMask& mask, int64_t first_row, int64_t rows, int64_t width,
                           const torch::Tensor& like);

// Factors 0 or mask.scale(), [..., 8 n], of the decisions in bytes [..., n] (int64) of the mask.
torch::Tensor dropout_bytes(const DropoutMask& mask, const torch::Tensor& bytes,
                            const torch::Tensor& like);

// DropHead: factors [n, heads] on the heads of sequences [n] (int64), as
// DropoutMask::fill_heads() gives them.
torch::Tensor dropout_heads(const DropoutMask& mask, const torch::Tensor& sequences, int64_t heads,
                            const torch::Tensor& like);

}  // namespace simile
