// SPDX-License-Identifier: Apache-2.0
// Products of rows whose bits do not depend on the number of threads.
#pragma once

#include <torch/types.h>

namespace simile {

// a b^T [m, n] of a [m, D] and b [n, D]. Floats on the CPU are multiplied by Simile's own kernels,
// whose sums have one order: the bits do not depend on the number of threads, which those of a BLAS
// may. Differentiable once. Other tensors go to torch's matmul, with its errors.
torch::Tensor inner_products(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace simile
