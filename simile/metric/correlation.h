// SPDX-License-Identifier: Apache-2.0
// Correlation of two lists of numbers, as semantic textual similarity is scored.
//
//   pearson(x, y)  = sum_i u_i v_i / sqrt(sum_i u_i^2 sum_i v_i^2),
//                    u_i = x_i - mean x, v_i = y_i - mean y
//   spearman(x, y) = pearson(average_ranks(x), average_ranks(y))
//
// The answer is a finite number in [-1, 1], never NaN: it is 0 when a side is constant or there are
// fewer than two values, where correlation is not defined. Computed in double, in input order.
//
// Errors: lists of different length, or a value that is not finite (with its position), are
// ErrorKind::kInput.
#pragma once

#include <vector>

namespace simile {

double pearson(const std::vector<double>& left, const std::vector<double>& right);
double spearman(const std::vector<double>& left, const std::vector<double>& right);

// Ranks from 1 for the smallest; equal values share the mean of the ranks they take up:
// {10, 20, 20, 30} -> {1, 2.5, 2.5, 4}.
std::vector<double> average_ranks(const std::vector<double>& values);

}  // namespace simile
