// SPDX-License-Identifier: Apache-2.0
// Numbers sorted once, for statistics of many choices of them, as a bootstrap draws them: each
// choice then takes time linear in its size and in the count of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simile {

class SortedValues {
 public:
  // None is NaN.
  explicit SortedValues(const std::vector<double>& values);

  size_t distinct() const { return distinct_; }  // how many numbers differ

  // The place of values[position] among the distinct ones, from 0 for the smallest.
  size_t place(int64_t position) const { return places_[static_cast<size_t>(position)]; }

  // The average_ranks() of the values at `positions`, of which any may occur several times.
  std::vector<double> ranks(const std::vector<int64_t>& positions) const;

 private:
  std::vector<size_t> places_;
  size_t distinct_;
};

// 0, 1, ..., count - 1: the choice of all.
std::vector<int64_t> all_positions(size_t count);

}  // namespace simile
