// SPDX-License-Identifier: Apache-2.0
#include "simile/index/exact_search.h"

#include <algorithm>

#include "simile/index/detail/parallel.h"
#include "simile/index/detail/scan.h"
#include "simile/index/detail/top_hits.h"

namespace simile {
namespace {

using detail::TopHits;

constexpr int64_t kQueries = 32;  // searched together, so that rows are read from memory once
constexpr int64_t kRows = 256;    // scored at a time: with 32 queries, 32 KiB of scores
constexpr int64_t kPiece = 8192;  // rows of one task when there are few queries

struct Range {
  int64_t begin, end;
};

// The best rows of [rows.begin, rows.end) for some queries.
std::vector<TopHits> search_piece(const float* vectors, Range rows, const float* queries,
                                  int64_t query_count, int64_t D, int64_t top_k, bool distance) {
  std::vector<TopHits> best(static_cast<size_t>(query_count), TopHits(top_k));
  std::vector<float> scores(static_cast<size_t>(query_count * kRows));
  for (int64_t begin = rows.begin; begin < rows.end; begin += kRows) {
    const int64_t count = std::min(kRows, rows.end - begin);
    detail::scan_scores(
        {queries, query_count, vectors + begin * D, count, D, distance, scores.data(), kRows});
    for (int64_t i = 0; i < query_count; ++i) {
      const float* row = scores.data() + i * kRows;
      TopHits& hits = best[static_cast<size_t>(i)];
      for (int64_t j = 0; j < count; ++j) hits.push(begin + j, row[j]);
    }
  }
  return best;
}

}  // namespace

std::vector<std::vector<Hit>> exact_search(const float* rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t D,
                                           int64_t top_k, VectorMetric metric) {
  std::vector<std::vector<Hit>> results(static_cast<size_t>(query_count));
  if (row_count == 0 || top_k <= 0) return results;
  top_k = std::min(top_k, row_count);
  const int64_t blocks = (query_count + kQueries - 1) / kQueries;
  const int64_t piece = blocks >= 8 ? row_count : kPiece;
  const int64_t pieces = (row_count + piece - 1) / piece;
  std::vector<std::vector<TopHits>> partial(static_cast<size_t>(blocks * pieces));
  detail::run_tasks(blocks * pieces, [&](int64_t task) {
    const int64_t first = task / pieces * kQueries;
    const Range range{task % pieces * piece, std::min((task % pieces + 1) * piece, row_count)};
    partial[static_cast<size_t>(task)] =
        search_piece(rows, range, queries + first * D, std::min(kQueries, query_count - first), D,
                     top_k, metric == VectorMetric::kSquaredDistance);
  });
  for (int64_t i = 0; i < query_count; ++i) {
    TopHits best(top_k);
    for (int64_t p = 0; p < pieces; ++p) {
      best.merge(partial[static_cast<size_t>(i / kQueries * pieces + p)]
                        [static_cast<size_t>(i % kQueries)]);
    }
    results[static_cast<size_t>(i)] = best.take_sorted();
  }
  return results;
}

}  // namespace simile
