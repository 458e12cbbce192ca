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

using Scan = void (*)(const ScanCall&);

Scan choose_scan() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return avx512::scan;
  }
  if (avx2) return avx2::scan;
#endif
  return baseline::scan;
}

}  // namespace

void scan_scores(const ScanCall& call) {
  static const Scan scan = choose_scan();
  scan(call);
}

}  // namespace simile::detail
