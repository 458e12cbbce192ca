// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/pooling.h"

#include <algorithm>
#include <cmath>

namespace simile {
namespace {

constexpr int64_t kWorthThreads = int64_t{1} << 18;  // numbers to read: about 50 microseconds

void pool_sequence(PoolingMode mode, const float* hidden, int64_t tokens, int64_t H, float* out) {
  if (tokens == 0) {
    std::fill(out, out + H, 0.0f);
    return;
  }
  std::copy(hidden, hidden + H, out);
  if (mode == PoolingMode::kCls) return;
  for (int64_t t = 1; t < tokens; ++t) {
    const float* row = hidden + t * H;
    if (mode == PoolingMode::kMean) {
      for (int64_t j = 0; j < H; ++j) out[j] += row[j];
    } else {
      for (int64_t j = 0; j < H; ++j) out[j] = std::max(out[j], row[j]);
    }
  }
  if (mode == PoolingMode::kMean) {
    const auto count = static_cast<float>(tokens);
    for (int64_t j = 0; j < H; ++j) out[j] /= count;
  }
}

}  // namespace

void pool(PoolingMode mode, const float* hidden, const std::vector<int32_t>& offsets, int64_t H,
          float* pooled) {
  const auto B = static_cast<int64_t>(offsets.size()) - 1;
#pragma omp parallel for schedule(static) if (offsets.back() * H > kWorthThreads)
  for (int64_t i = 0; i < B; ++i) {
    const int64_t begin = offsets[static_cast<size_t>(i)],
                  end = offsets[static_cast<size_t>(i) + 1];
    pool_sequence(mode, hidden + begin * H, end - begin, H, pooled + i * H);
  }
}

void normalise_rows(float* rows, int64_t B, int64_t D) {
  for (int64_t i = 0; i < B; ++i) {
    float* row = rows + i * D;
    double squares = 0;
    for (int64_t j = 0; j < D; ++j) squares += static_cast<double>(row[j]) * row[j];
    if (squares == 0) continue;
    const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
    for (int64_t j = 0; j < D; ++j) row[j] *= scale;
  }
}

}  // namespace simile
