// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/sorted_values.h"

#include <algorithm>
#include <numeric>

namespace simile {

SortedValues::SortedValues(const std::vector<double>& values) {
  std::vector<double> distinct = values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  distinct_ = distinct.size();
  places_.reserve(values.size());
  for (const double value : values) {
    const auto found = std::lower_bound(distinct.begin(), distinct.end(), value);
    places_.push_back(static_cast<size_t>(found - distinct.begin()));
  }
}

std::vector<double> SortedValues::ranks(const std::vector<int64_t>& positions) const {
  std::vector<int64_t> times(distinct_, 0);
  for (const int64_t position : positions) ++times[place(position)];
  std::vector<double> rank_of_place(distinct_);
  int64_t below = 0;
  for (size_t p = 0; p < distinct_; ++p) {
    rank_of_place[p] = static_cast<double>(2 * below + times[p] + 1) / 2;
    below += times[p];
  }
  std::vector<double> ranks;
  ranks.reserve(positions.size());
  for (const int64_t position : positions) ranks.push_back(rank_of_place[place(position)]);
  return ranks;
}

std::vector<int64_t> all_positions(size_t count) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

}  // namespace simile
