// SPDX-License-Identifier: Apache-2.0
// The vectors of segments that follow one another, as one array.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/neighbours/exact_search.h"

namespace simile::detail {

// Part p holds the rows from p << shift on; all but the last are full.
struct VectorRows {
  std::vector<StoredRows> parts;
  int shift = 0;
  int64_t count = 0, D = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  StoredNumber number = StoredNumber::kFp32;

  const StoredRows& part(int64_t i) const { return parts[static_cast<size_t>(i >> shift)]; }
  int64_t place(int64_t i) const { return i & ((int64_t{1} << shift) - 1); }
  const char* row(int64_t i) const { return part(i).row(place(i)); }
  void read(int64_t i, float* out) const { part(i).read(place(i), out); }
};

}  // namespace simile::detail
