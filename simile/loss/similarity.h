// SPDX-License-Identifier: Apache-2.0
// Normalised embeddings, similarities and distances of rows, and the one score of each pair that
// graded losses compare with its target.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "simile/loss/loss_input.h"

namespace simile {

// Normalisations of a batch of embeddings x [m, D] (METHODS section 1; BSC-loss section 3.5).
//
//   none              x
//   l2                each row divided by its L2 norm
//   coordinate_l2     each column divided by its L2 norm over the batch
//   coordinate_range  each column divided by (maximum - minimum) over the batch
//   coordinate_minmax (x - minimum) / (maximum - minimum) per column
//
// Gradients flow through norms, minima and maxima (ties share them evenly). A divisor not above
// 1e-12 (a zero row, a constant column) gives zeros with zero gradient, never inf or NaN.
const std::vector<std::string>& normalization_names();

// True for the three that divide by a statistic of the batch's columns.
bool is_coordinate_normalization(const std::string& name);

// Same shape as `x`. Errors (kRecipe): an unknown name.
torch::Tensor normalize_embeddings(const torch::Tensor& x, const std::string& name);

// Similarities and distances of rows. Of matching rows of u and v, both [m, D], results are [m].
// Guarded as normalize_embeddings() is: a zero row has cosine 0 with everything, equal rows have
// distance 0 with zero gradient.
torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v);     // cos(u_i, v_i)
torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v);  // |u_i - v_i|

// d(u_i, v_i): `cosine` is 1 - cos(u_i, v_i), `euclidean` |u_i - v_i|, `manhattan` the sum of
// |u_ik - v_ik| over k. Errors (kRecipe): an unknown name.
torch::Tensor row_distance(const torch::Tensor& u, const torch::Tensor& v, const std::string& name);

// The one score of each pair that graded losses compare with its target, [m]: the head's number for
// each pair (LossInput::logits) if there is a head, otherwise the cosine of u_i and v_i. Errors: as
// check_loss_input(); kInput for logits that are not [m, 1], and without logits as
// check_pair_input().
torch::Tensor pair_scores(const LossInput& input);

// The head's numbers as [m]. Errors (kInput): logits that are missing or not [m, 1]; the message
// names `loss`.
torch::Tensor single_logits(const LossInput& input, const char* loss);

}  // namespace simile
