// SPDX-License-Identifier: Apache-2.0
// The two ways in which nearest_neighbours() works, over rows packed for the matrix product.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/kernel/matrix_product.h"
#include "simile/neighbours/detail/top_rows.h"
#include "simile/neighbours/neighbours.h"

namespace simile::detail {

constexpr int64_t kPackedQueries = 256;  // queries and rows to score at a time: their scores and
constexpr int64_t kPackedRows =
    PackedMatrix::kColumnBlock;  // both operands stay in the second cache

// A copy of rows, cut into blocks (the cells of an inverted file, say). A score is
//   q . x - |x|^2 / 2,
// which falls as |q - x| grows; its bits depend on its query and row alone (and on the processor's
// instruction set), so equal rows have equal scores.
class PackedRows {
 public:
  // Block b holds the rows order[offsets[b]] .. order[offsets[b + 1] - 1] of `vectors`.
  PackedRows(const Matrix<float>& vectors, std::vector<int32_t> order,
             std::vector<int64_t> offsets);
  // All rows as one block.
  explicit PackedRows(const Matrix<float>& vectors);

  int64_t blocks() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t size(int64_t block) const { return begin(block + 1) - begin(block); }
  // Where the block begins in ids().
  int64_t begin(int64_t block) const { return offsets_[block]; }
  const std::vector<int32_t>& ids() const { return order_; }

  // scores[i * stride + j], j < rows, of queries [count, D] against the block's rows from `first`
  // on, a multiple of kPackedRows. On one thread.
  void score(int64_t block, int64_t first, int64_t rows, const float* queries, int64_t count,
             float* scores, int64_t stride) const;

 private:
  void pack_block(const Matrix<float>& vectors, int64_t block);

  std::vector<int32_t> order_;
  std::vector<int64_t> offsets_;
  std::vector<PackedMatrix> packed_;  // of each block
  std::vector<float> bias_;           // -|x|^2 / 2, in the order of ids()
};

// Rows ids[0] .. ids[count - 1] of `vectors`, one after the other.
void gather_rows(const Matrix<float>& vectors, const int32_t* ids, int64_t count, float* to);

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
