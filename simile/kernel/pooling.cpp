// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/pooling.h"

#include <algorithm>
#include <cmath>

namespace simile {
namespace {

constexpr int64_t kWorthThreads = int64_t{1} << 18;  // numbers to read: about 50 microseconds

// Tokens first .. tokens - 1 of a sequence.
void pool_sequence(PoolingMode mode, const float* hidden, int64_t first, int64_t tokens, int64_t H,
                   float* out) {
  if (first >= tokens) {
    std::fill(out, out + H, 0.0f);
    return;
  }
  const bool is_weighted = mode == PoolingMode::kWeightedMean;
  const float* start = hidden + (mode == PoolingMode::kLastToken ? tokens - 1 : first) * H;
  const auto weight_of = [&](int64_t t) { return is_weighted ? static_cast<float>(t + 1) : 1.0f; };
  for (int64_t j = 0; j < H; ++j) out[j] = start[j] * weight_of(first);
  if (mode == PoolingMode::kCls || mode == PoolingMode::kLastToken) return;
  float divisor = weight_of(first);
  for (int64_t t = first + 1; t < tokens; ++t) {
    const float* row = hidden + t * H;
    const float weight = weight_of(t);
    divisor += weight;
    if (mode == PoolingMode::kMax) {
      for (int64_t j = 0; j < H; ++j) out[j] = std::max(out[j], row[j]);
    } else if (is_weighted) {
      for (int64_t j = 0; j < H; ++j) out[j] += weight * row[j];
    } else {
      for (int64_t j = 0; j < H; ++j) out[j] += row[j];
    }
  }
  if (mode == PoolingMode::kMax) return;
  if (mode == PoolingMode::kMeanSqrtLength) divisor = std::sqrt(divisor);
  for (int64_t j = 0; j < H; ++j) out[j] /= divisor;
}

// By how much rounding may move the squared length of a row that was divided by its length.
constexpr double kUnitRounding = 0x1p-22;

}  // namespace

void pool_states(const std::vector<PoolingMode>& modes, const float* hidden,
                 const std::vector<int32_t>& offsets, int64_t H, float* pooled, int64_t left_out) {
  const auto B = static_cast<int64_t>(offsets.size()) - 1;
  if (modes.empty()) {
    std::copy_n(hidden, B * H, pooled);
    return;
  }
#pragma omp parallel for schedule(static) if (offsets.back() * H > kWorthThreads)
  for (int64_t i = 0; i < B; ++i) {
    const int64_t begin = offsets[i], end = offsets[static_cast<size_t>(i) + 1];
    float* out = pooled + i * H * static_cast<int64_t>(modes.size());
    for (const PoolingMode mode : modes) {
      pool_sequence(mode, hidden + begin * H, left_out, end - begin, H, out);
      out += H;
    }
  }
}

void normalise_rows(float* rows, int64_t B, int64_t D) {
  for (int64_t i = 0; i < B; ++i) {
    float* row = rows + i * D;
    double squares = 0;
    for (int64_t j = 0; j < D; ++j) squares += static_cast<double>(row[j]) * row[j];
    if (squares == 0 || std::abs(squares - 1) <= kUnitRounding) continue;
    const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
    for (int64_t j = 0; j < D; ++j) row[j] *= scale;
  }
}

}  // namespace simile
