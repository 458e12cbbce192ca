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

#include <cstdint>
#include <vector>

namespace simile {

double pearson(const std::vector<double>& left, const std::vector<double>& right);
double spearman(const std::vector<double>& left, const std::vector<double>& right);

// Ranks from 1 for the smallest; equal values share the mean of the ranks they take up:
// {10, 20, 20, 30} -> {1, 2.5, 2.5, 4}.
std::vector<double> average_ranks(const std::vector<double>& values);

// Do two lists of numbers put the same things in the same order? Over the pairs that both order
// (neither has two equal numbers there), with C of them alike and D the other way:
//
//   tau = (C - D) / (C + D)   Kendall 1938; with equal numbers Goodman and Kruskal's gamma, 1954
//   p   = share of the orders of `right` with |C - D| at least as large: how often rows shuffled
//         blindly would agree (or disagree) as much. Of all n! where n <= 8, otherwise of 20,000
//         random ones of the stream "order" under seed 1, as (1 + hits) / (1 + 20,000).
struct OrderAgreement {
  int64_t same = 0, reversed = 0;  // pairs
  double tau = 0;                  // 0 without pairs
  double p = 1;                    // two-sided
};

OrderAgreement compare_orders(const std::vector<double>& left, const std::vector<double>& right);

}  // namespace simile
