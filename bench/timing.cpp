// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>

#include "simile/core/error.h"

namespace simile::bench {
namespace {

constexpr dnnl_dim_t kSize = 2048;
constexpr int kCalls = 6;

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

SgemmPeak::SgemmPeak() : a_(kSize * kSize, 0.5f), b_(kSize * kSize, 0.25f), c_(kSize * kSize) {}

void SgemmPeak::measure() {
  for (int i = 0; i < kCalls; ++i) {
    const double start = now_seconds();
    const dnnl_status_t status = dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0f, a_.data(), kSize,
                                            b_.data(), kSize, 0.0f, c_.data(), kSize);
    const double seconds = now_seconds() - start;
    SIMILE_CHECK(status == dnnl_success && c_.front() == 0.125f * kSize, ErrorKind::kFailed,
                 "oneDNN's sgemm failed or gave a wrong result");
    best_ = std::max(best_, 2e-9 * kSize * kSize * kSize / seconds);
  }
}

}  // namespace simile::bench
