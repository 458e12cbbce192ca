// SPDX-License-Identifier: Apache-2.0
// The inner loops of exact search, on one thread. A score's bits depend on its query and row alone,
// and on the instruction set. It is the score with the floats that the row represents.
#pragma once

#include <cstdint>

#include "simile/neighbours/exact_search.h"

namespace simile::detail {

// All scores of some queries against some rows.
struct ScanCall {
  const float* queries;  // [query_count, D]
  int64_t query_count;
  const void* rows;  // row_count of them, as `number` says
  int64_t row_count;
  int64_t D;
  VectorMetric metric;
  float* scores = nullptr;          // [query_count, stride]
  int64_t stride = 0;               // row_count rounded up to a multiple of 4, or more
  const int64_t* places = nullptr;  // row j is places[j] of `rows`; null: j
  StoredNumber number = StoredNumber::kFp32;
};

struct ScanKernels {
  void (*scan)(const ScanCall& call);
  // scores[j] is that of the query with rows[j], to the bit of scan(); `scores` has room for
  // `count` rounded up to a multiple of 4.
  void (*few)(const float* query, const char* const* rows, int64_t count, int64_t D,
              VectorMetric metric, StoredNumber number, float* scores);
  // The score of two vectors of which only the higher halves of their numbers are kept (bfloat16).
  float (*halves)(const uint16_t* a, const uint16_t* b, int64_t D, VectorMetric metric);
  // Writes the numbers j, rising, of the `count` scores that are `threshold` or more to `found`
  // (room for `count`); returns how many they are.
  int64_t (*find)(const float* scores, int64_t count, float threshold, int32_t* found);
};

// Those at the instruction set of vector_kernels() (kernel/vector_kernels.h).
const ScanKernels& scan_kernels();

}  // namespace simile::detail
