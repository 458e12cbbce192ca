// SPDX-License-Identifier: Apache-2.0
// The two ways in which nearest_neighbours() works.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/neighbours/detail/packed_rows.h"
#include "simile/neighbours/detail/top_rows.h"
#include "simile/neighbours/neighbours.h"

namespace simile::detail {

constexpr int64_t kExactNeighbours = 100000;  // exact below so many rows

// nearest_neighbours() with another limit.
Matrix<int32_t> nearest_neighbours_below(const Matrix<float>& vectors, int64_t top_n,
                                         int64_t exact_below, NeighbourReport* report);

// nearest_neighbours() of chosen rows, exact. `vectors`, which are finite, outlive it; 0 < top_n <
// n.
class ExactNeighbours {
 public:
  ExactNeighbours(const Matrix<float>& vectors, int64_t top_n);
  Matrix<int32_t> find(const std::vector<int32_t>& rows) const;

 private:
  const Matrix<float>& vectors_;
  int64_t top_n_;
  PackedRows packed_;
  float margin_;
};

struct ScoreScratch {
  std::vector<float> scores;
  std::vector<int32_t> found;
  ScoreScratch();
};

// Offers queries [count, D], whose numbers are `ids`, the rows of a block but for themselves:
// best[i] is for query i. On one thread.
void offer_block(const PackedRows& rows, int64_t block, const float* queries, const int32_t* ids,
                 int64_t count, TopRows* const* best, ScoreScratch& scratch);

// Fills `neighbours` [n, top_n], top_n < n.
void approximate_neighbours(const Matrix<float>& vectors, Matrix<int32_t>& neighbours,
                            NeighbourReport* report);

}  // namespace simile::detail
