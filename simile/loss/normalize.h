// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace simile {

const std::vector<std::string>& normalization_names();

// True for the three that divide by a statistic of the batch's columns.
bool is_coordinate_normalization(const std::string& name);

// Same shape as `x`. Errors (kRecipe): an unknown name.
torch::Tensor normalize_embeddings(const torch::Tensor& x, const std::string& name);

}  // namespace simile
