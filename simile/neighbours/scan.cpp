// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/scan.h"

#include "simile/kernel/vector_kernels.h"

namespace simile::detail {

extern const ScanKernels kScanKernelsBaseline;
#ifdef SIMILE_X86
extern const ScanKernels kScanKernelsAvx2;
extern const ScanKernels kScanKernelsAvx512;
#endif

namespace {

const ScanKernels& kernels() {
#ifdef SIMILE_X86
  static const Isa isa = vector_kernels().isa;
  if (isa == Isa::kAvx512) return kScanKernelsAvx512;
  if (isa == Isa::kAvx2) return kScanKernelsAvx2;
#endif
  return kScanKernelsBaseline;
}

}  // namespace

void scan_scores(ScanCall call) {
  call.row_bytes = stored_bytes(call.number, call.D);
  kernels().scan(call);
}

void score_rows(const float* query, const char* const* rows, int64_t count, int64_t D,
                VectorMetric metric, StoredNumber number, float* scores) {
  kernels().few(query, rows, count, D, metric, number, scores);
}

float score_short(const uint16_t* a, const uint16_t* b, int64_t D, VectorMetric metric) {
  return kernels().halves(a, b, D, metric);
}

int64_t find_at_least(const float* scores, int64_t count, float threshold, int32_t* found) {
  return kernels().find(scores, count, threshold, found);
}

}  // namespace simile::detail
