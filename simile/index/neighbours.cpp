// SPDX-License-Identifier: Apache-2.0
#include "simile/index/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/error.h"
#include "simile/index/detail/parallel.h"
#include "simile/index/detail/scan.h"
#include "simile/index/detail/top_hits.h"

namespace simile {
namespace {

constexpr int64_t kQueries = 64;  // rows whose neighbours are found together
constexpr int64_t kRows = 128;    // rows compared at a time

void find_neighbours(const Matrix<float>& vectors, int64_t first, int64_t count,
                     Matrix<int32_t>& neighbours) {
  std::vector<detail::TopHits> best(static_cast<size_t>(count), detail::TopHits(neighbours.cols));
  std::vector<float> scores(static_cast<size_t>(kQueries * kRows));
  for (int64_t begin = 0; begin < vectors.rows; begin += kRows) {
    const int64_t rows = std::min(kRows, vectors.rows - begin);
    detail::scan_scores({vectors.row(first), count, vectors.row(begin), rows, vectors.cols, true,
                         scores.data(), kRows});
    for (int64_t i = 0; i < count; ++i) {
      const float* row = scores.data() + i * kRows;
      for (int64_t j = 0; j < rows; ++j) {
        if (begin + j != first + i) best[static_cast<size_t>(i)].push(begin + j, row[j]);
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<Hit> hits = best[static_cast<size_t>(i)].take_sorted();
    std::transform(hits.begin(), hits.end(), neighbours.row(first + i),
                   [](const Hit& hit) { return static_cast<int32_t>(hit.id); });
  }
}

}  // namespace

Matrix<int32_t> nearest_neighbours(const Matrix<float>& vectors, int64_t top_n) {
  const bool finite = std::all_of(vectors.values.begin(), vectors.values.end(),
                                  [](float value) { return std::abs(value) < 1e15f; });
  SIMILE_CHECK(finite, ErrorKind::kFailed,
               "nearest neighbours: an embedding is not finite (or beyond 1e15); has training "
               "diverged?");
  const int64_t cols = std::max<int64_t>(0, std::min(top_n, vectors.rows - 1));
  Matrix<int32_t> neighbours(vectors.rows, cols);
  if (cols == 0) return neighbours;
  detail::run_tasks((vectors.rows + kQueries - 1) / kQueries, [&](int64_t task) {
    const int64_t first = task * kQueries;
    find_neighbours(vectors, first, std::min(kQueries, vectors.rows - first), neighbours);
  });
  return neighbours;
}

}  // namespace simile
