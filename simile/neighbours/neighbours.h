// SPDX-License-Identifier: Apache-2.0
// The nearest neighbours of every row among the other rows, as batch orders need them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

// How the neighbours were found.
struct NeighbourReport {
  std::string method;   // "exact", or "inverted file, nearest P of C cells"
  double recall = 1;    // share of the true neighbours found, of the rows sampled; exact: 1
  int64_t sampled = 0;  // rows whose exact neighbours were looked up to measure it; exact: 0
};

// Row i holds the numbers of the `top_n` rows of `vectors` [n, D] nearest to row i (without i
// itself) by Euclidean distance, nearest first, equal distances by lower number. Fewer columns, n -
// 1, when there are not that many rows. The same bits for any number of threads.
//
// Below 100,000 rows exact: rows are sifted by dot products (a matrix product), and those that
// rounding leaves in question compared by their differences. Memory: the result, a packed copy of
// the vectors and about 10 megabytes per thread at top_n = 500.
//
// From 100,000 rows on it is approximate, by an inverted file: k-means cuts the rows into 4 sqrt(n)
// cells, and a row is compared with the rows of the P cells with the nearest centres (more if they
// hold fewer than top_n). P is the least number that holds 98 % of the true neighbours of 500
// random rows, but at most a quarter of the cells, so that vectors without structure do not take
// the time of an exact search. Distances are then |x|^2 / 2 - q . x in floats: rows that are
// equally far within rounding may change places. With a report, recall is measured on 500 other
// rows. Memory: the result, a packed copy of the vectors, and 150 to 300 megabytes per thread at
// top_n = 500. Time: docs/results/orders.md; it grows with the square of the number of equal rows,
// which share a cell.
//
// Errors (kFailed): a vector that is not finite, more than 2^31 - 1 rows.
Matrix<int32_t> nearest_neighbours(const Matrix<float>& vectors, int64_t top_n,
                                   NeighbourReport* report = nullptr);

namespace detail {
class ExactNeighbours;
}

// Computes rows of nearest_neighbours() on demand, for callers that choose rows by the results of
// others. Below 100,000 rows only those are computed, from there on all at the start.
class NeighbourSearch {
 public:
  NeighbourSearch(Matrix<float> vectors, int64_t top_n);
  ~NeighbourSearch();

  // Row i is of rows[i].
  Matrix<int32_t> find(const std::vector<int32_t>& rows) const;
  const NeighbourReport& report() const { return report_; }

 private:
  Matrix<float> vectors_;
  std::unique_ptr<detail::ExactNeighbours> exact_;
  Matrix<int32_t> all_;  // where there is no exact_
  NeighbourReport report_;
};

}  // namespace simile
