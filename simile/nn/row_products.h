// SPDX-License-Identifier: Apache-2.0
// Products of the rows of a batch as autograd nodes over Simile's own kernels: inner products, rows
// of length 1, and the terms of a batch-softmax contrastive loss. Their bits do not depend on the
// number of threads.
#pragma once

#include <torch/types.h>

#include "simile/kernel/matrix_product.h"

namespace simile {

// a b^T [m, n] of a [m, D] and b [n, D]. Floats on the CPU are multiplied by Simile's own kernels,
// whose sums have one order: the bits do not depend on the number of threads, which those of a BLAS
// may. Differentiable once. Other tensors go to torch's matmul, with its errors.
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

// Of `left` [m, D], `right` [n, D] and `scale`, one number. The bits do not depend on the number of
// threads. Differentiable once.
ContrastiveTermTensors contrastive_terms(const torch::Tensor& left, const torch::Tensor& right,
                                         const torch::Tensor& scale, bool rows, bool columns,
                                         ProductType products);

}  // namespace simile
