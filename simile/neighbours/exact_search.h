// SPDX-License-Identifier: Apache-2.0
// Exact search: every query against every row, without an index structure and without BLAS. Search
// and evaluation rank by it alike, to the last bit.
//
// A hit's score is q . x (inner product), or a distance negated so that higher is always better:
// -|q - x|^2 (squared distance) or -sum_d |q_d - x_d| (absolute distance). Equal scores are ordered
// by lower row. A score's bits depend on its query and row alone (and on the processor's
// instruction set): not on other queries and rows, nor on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/neighbours/stored_vectors.h"

namespace simile {

enum class VectorMetric { kInnerProduct, kSquaredDistance, kAbsoluteDistance };

struct Hit {
  int64_t id;
  float score;
};

// rows [row_count, D], queries [query_count, D], row-major; where `places` is given, row i is
// places[i] of `rows`. Hits of each query, best first: top_k, or row_count if that is less. Rows
// whose score is not a number are left out.
std::vector<std::vector<Hit>> exact_search(const float* rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t D,
                                           int64_t top_k, VectorMetric metric,
                                           const int64_t* places = nullptr);

// The same of rows in another form: `rows` has all that `places` name, or row_count of them.
std::vector<std::vector<Hit>> exact_search(const StoredRows& rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t top_k,
                                           VectorMetric metric, const int64_t* places = nullptr);

// The scores behind exact_search(), to the last bit, which double holds: scores[i * row_count + j]
// is that of query i with row j.
void exact_scores(const float* rows, int64_t row_count, const float* queries, int64_t query_count,
                  int64_t D, VectorMetric metric, double* scores, const int64_t* places = nullptr);
void exact_scores(const StoredRows& rows, int64_t row_count, const float* queries,
                  int64_t query_count, VectorMetric metric, double* scores,
                  const int64_t* places = nullptr);

}  // namespace simile
