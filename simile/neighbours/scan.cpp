// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/scan.h"

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace simile::detail {
namespace {

#define SIMILE_SCAN baseline
#define SIMILE_TILE 2
#define SIMILE_LEVEL 0
#include "simile/neighbours/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE
#undef SIMILE_LEVEL

#if defined(__x86_64__) && defined(__GNUC__)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SIMILE_SCAN avx2
#define SIMILE_TILE 2
#define SIMILE_LEVEL 1
#include "simile/neighbours/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE
#undef SIMILE_LEVEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#define SIMILE_SCAN avx512
#define SIMILE_TILE 4
#define SIMILE_LEVEL 2
#include "simile/neighbours/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE
#undef SIMILE_LEVEL
#pragma GCC pop_options

#endif

struct ScanTable {
  void (*scan)(const ScanCall&);
  int64_t (*find)(const float*, int64_t, float, int32_t*);
  void (*few)(const float*, const char* const*, int64_t, int64_t, VectorMetric, StoredNumber,
              float*);
  float (*halves)(const uint16_t*, const uint16_t*, int64_t, VectorMetric);
};

ScanTable choose_table() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return {avx512::scan, avx512::find, avx512::few, avx512::halves};
  }
  if (avx2) return {avx2::scan, avx2::find, avx2::few, avx2::halves};
#endif
  return {baseline::scan, baseline::find, baseline::few, baseline::halves};
}

const ScanTable& table() {
  static const ScanTable chosen = choose_table();
  return chosen;
}

}  // namespace

void scan_scores(const ScanCall& call) { table().scan(call); }

int64_t find_at_least(const float* scores, int64_t count, float threshold, int32_t* found) {
  return table().find(scores, count, threshold, found);
}

void score_rows(const float* query, const char* const* rows, int64_t count, int64_t D,
                VectorMetric metric, StoredNumber number, float* scores) {
  table().few(query, rows, count, D, metric, number, scores);
}

float score_short(const uint16_t* a, const uint16_t* b, int64_t D, VectorMetric metric) {
  return table().halves(a, b, D, metric);
}

}  // namespace simile::detail
