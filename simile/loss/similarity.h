// SPDX-License-Identifier: Apache-2.0
// Similarities and distances of rows. Of matching rows of u and v, both [m, D], results are [m].
// Guarded as in normalize.h: a zero row has cosine 0 with everything, equal rows have distance 0
// with zero gradient.
#pragma once

#include <torch/types.h>

#include <string>

namespace simile {

torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v);     // cos(u_i, v_i)
torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v);  // |u_i - v_i|

// d(u_i, v_i): `cosine` is 1 - cos(u_i, v_i), `euclidean` |u_i - v_i|, `manhattan` the sum of
// |u_ik - v_ik| over k. Errors (kRecipe): an unknown name.
torch::Tensor row_distance(const torch::Tensor& u, const torch::Tensor& v, const std::string& name);

}  // namespace simile
