// SPDX-License-Identifier: Apache-2.0
#include "simile/index/exact_search.h"

#include <algorithm>

#include "simile/core/parallel.h"
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

// The best rows of [range.begin, range.end) for the queries of `call`, which has all rows.
std::vector<TopHits> search_piece(detail::ScanCall call, Range range, int64_t top_k) {
  std::vector<TopHits> best(static_cast<size_t>(call.query_count), TopHits(top_k));
  std::vector<float> scores(static_cast<size_t>(call.query_count * kRows));
  call.scores = scores.data();
  call.stride = kRows;
  const float* const rows = call.rows;
  const int64_t* const places = call.places;
  for (int64_t begin = range.begin; begin < range.end; begin += kRows) {
    const int64_t count = std::min(kRows, range.end - begin);
    call.rows = places == nullptr ? rows + begin * call.D : rows;
    call.places = places == nullptr ? nullptr : places + begin;
    call.row_count = count;
    detail::scan_scores(call);
    for (int64_t i = 0; i < call.query_count; ++i) {
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
                                           int64_t top_k, VectorMetric metric,
                                           const int64_t* places) {
  std::vector<std::vector<Hit>> results(static_cast<size_t>(query_count));
  if (row_count == 0 || top_k <= 0) return results;
  top_k = std::min(top_k, row_count);
  const int64_t blocks = (query_count + kQueries - 1) / kQueries;
  const int64_t piece = blocks >= 8 ? row_count : kPiece;
  const int64_t pieces = (row_count + piece - 1) / piece;
  std::vector<std::vector<TopHits>> partial(static_cast<size_t>(blocks * pieces));
  run_parallel(blocks * pieces, 1, [&](int64_t task) {
    const int64_t first = task / pieces * kQueries;
    const Range range{task % pieces * piece, std::min((task % pieces + 1) * piece, row_count)};
    detail::ScanCall call{
        queries + first * D, std::min(kQueries, query_count - first), rows, row_count, D, metric};
    call.places = places;
    partial[static_cast<size_t>(task)] = search_piece(call, range, top_k);
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
