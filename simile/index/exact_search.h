// SPDX-License-Identifier: Apache-2.0
// Exact search: every query against every row, without an index structure and without BLAS.
//
// A hit's score is q . x (inner product) or -|q - x|^2 (squared distance, negated), so that higher
// is always better. Equal scores are ordered by lower row. Scores and order have the same bits for
// one query or many and for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

enum class VectorMetric { kInnerProduct, kSquaredDistance };

struct Hit {
  int64_t id;
  float score;
};

// rows [row_count, D], queries [query_count, D], row-major. Hits of each query, best first: top_k,
// or row_count if that is less. Rows whose score is not a number are left out.
std::vector<std::vector<Hit>> exact_search(const float* rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t D,
                                           int64_t top_k, VectorMetric metric);

}  // namespace simile
