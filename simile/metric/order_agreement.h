// SPDX-License-Identifier: Apache-2.0
// Do two lists of numbers put the same things in the same order? Over the pairs that both order
// (neither has two equal numbers there), with C of them alike and D the other way:
//
//   tau = (C - D) / (C + D)   Kendall 1938; with equal numbers Goodman and Kruskal's gamma, 1954
//   p   = share of the orders of `right` with |C - D| at least as large: how often rows shuffled
//         blindly would agree (or disagree) as much. Counted over all n! orders where n <= 8,
//         otherwise over 20,000 random ones of the stream "order" under seed 1, as
//         (1 + hits) / (1 + 20,000).
//
// Errors: lists of different length, or a value that is not finite, are ErrorKind::kInput.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

struct OrderAgreement {
  int64_t same = 0, reversed = 0;  // pairs
  double tau = 0;                  // 0 without pairs
  double p = 1;                    // two-sided
};

OrderAgreement compare_orders(const std::vector<double>& left, const std::vector<double>& right);

}  // namespace simile
