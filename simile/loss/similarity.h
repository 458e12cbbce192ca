// SPDX-License-Identifier: Apache-2.0
// Similarities and distances of rows. Of matching rows of u and v, both [m, D], results are [m].
// Guarded as in normalize.h: a zero row has cosine 0 with everything, equal rows have distance 0
// with zero gradient.
#pragma once

#include <torch/types.h>

namespace simile {

torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v);     // cos(u_i, v_i)
torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v);  // |u_i - v_i|

// a b^T [m, n] of a [m, D] and b [n, D]. Floats on the CPU are multiplied by Simile's own kernels,
// whose sums have one order: the bits do not depend on the number of threads, which those of a BLAS
// may. Differentiable once. Other tensors go to torch's matmul, with its errors.
torch::Tensor inner_products(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace simile
