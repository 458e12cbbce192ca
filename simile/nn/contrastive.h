// SPDX-License-Identifier: Apache-2.0
// simile/kernel/contrastive.h as an autograd node: the terms of a batch-softmax contrastive loss
// with gradients to the embeddings and the scale.
#pragma once

#include <torch/types.h>

#include "simile/kernel/product_type.h"

namespace simile {

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
