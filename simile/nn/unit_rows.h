// SPDX-License-Identifier: Apache-2.0
// Rows of length 1.
#pragma once

#include <torch/types.h>

namespace simile {

// Whether unit_rows() takes it: a matrix of floats on the CPU.
bool has_unit_rows(const torch::Tensor& x);

// Each row of x [m, D] divided by its L2 norm, and 0 with zero gradient where the norm is at most
// kLeastLength (simile/kernel/vector_kernels.h). Differentiable once.
torch::Tensor unit_rows(const torch::Tensor& x);

}  // namespace simile
