// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/scan.h"

#include <cstddef>
#include <cstdint>

namespace simile::detail {
namespace {

#define SIMILE_SCAN baseline
#define SIMILE_TILE 2
#include "simile/index/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE

#if defined(__x86_64__) && defined(__GNUC__)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SIMILE_SCAN avx2
#define SIMILE_TILE 2
#include "simile/index/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#define SIMILE_SCAN avx512
#define SIMILE_TILE 4
#include "simile/index/detail/scan.inc"
#undef SIMILE_SCAN
#undef SIMILE_TILE
#pragma GCC pop_options

#endif

struct ScanTable {
  void (*scan)(const ScanCall&);
  int64_t (*find)(const float*, int64_t, float, int32_t*);
};

ScanTable choose_table() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return {avx512::scan, avx512::find};
  }
  if (avx2) return {avx2::scan, avx2::find};
#endif
  return {baseline::scan, baseline::find};
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

}  // namespace simile::detail
