// SPDX-License-Identifier: Apache-2.0
// The masks of simile/kernel/dropout.h as tensors, computed on the tensors' own device: Philox
// 4x32-10 in int64 arithmetic, where the product of two 32-bit words wraps to its 64 bits. Every
// factor has the bits that DropoutMask gives the same place.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "simile/kernel/dropout.h"

namespace simile {

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
