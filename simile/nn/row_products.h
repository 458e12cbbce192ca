// SPDX-License-Identifier: Apache-2.0
// Products of the rows of a batch as autograd nodes over Simile's own kernels: inner products, rows
// of length 1, and terms of a batch-softmax contrastive loss. Same bits for any threads.
#pragma once

#include <torch/types.h>

#include "simile/kernel/matrix_product.h"

namespace simile {

// a b^T [m, n] of a [m, D] and b [n, D]. Simile's own kernels multiply floats on the CPU. Their
// sums have one order, so the bits do not depend on the number of threads, unlike those of some
// BLAS libraries. Differentiable once. Other tensors go to torch's matmul, with its errors.
torch::Tensor inner_products(const torch::Tensor& a, const torch::Tensor& b);

// Whether unit_rows() takes it: a matrix of floats on the CPU.
bool has_unit_rows(const torch::Tensor& x);

// Each row of x [m, D] divided by its L2 norm, and 0 with zero gradient where the norm is at most
// kLeastLength (simile/kernel/vector_kernels.h). Differentiable once.
torch::Tensor unit_rows(const torch::Tensor& x);

struct ContrastiveTermTensors {
  torch::Tensor rows;     // [m]; not defined where it is not wanted
  torch::Tensor columns;  // [m]; likewise
};

// Whether contrastive_terms() takes these: matrices of floats on the CPU with equal rows, at least
// as many of `right` as of `left`, none of them empty, and a scale that is not 0.
bool has_contrastive_terms(const torch::Tensor& left, const torch::Tensor& right,
                           const torch::Tensor& scale);

// The terms of `left` [m, D] and `right` [n, D]; `scale` is one number. The bits do not depend on
// the number of threads. Differentiable once.
ContrastiveTermTensors contrastive_terms(const torch::Tensor& left, const torch::Tensor& right,
                                         const torch::Tensor& scale, bool rows, bool columns,
                                         ProductType products);

}  // namespace simile
