// SPDX-License-Identifier: Apache-2.0
// Similarities and distances of matching rows of u and v, both [m, D]; all results are [m].
// Guarded as in normalize.h: a zero row has cosine 0 with everything, equal rows have distance 0
// with zero gradient.
#pragma once

#include <torch/types.h>

namespace simile {

torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v);     // cos(u_i, v_i)
torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v);  // |u_i - v_i|

}  // namespace simile
