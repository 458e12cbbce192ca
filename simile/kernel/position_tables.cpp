// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/position_tables.h"

#include <algorithm>
#include <cmath>

#include "simile/kernel/vector_kernels.h"

namespace simile {

int64_t relative_bucket(int64_t distance, int64_t buckets) {
  constexpr double kFarthest = 128;
  const int64_t half = buckets / 2, exact = half / 2;
  const int64_t first = distance > 0 ? half : 0, n = std::abs(distance);
  if (n < exact) return first + n;
  // Single precision, as the models that were trained with it computed it.
  const float octaves = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(kFarthest / static_cast<double>(exact)));
  const auto scaled = static_cast<int64_t>(octaves * static_cast<float>(half - exact));
  return first + std::min(half - 1, exact + scaled);
}

int64_t bucket_count(const EncoderShape& shape) {
  return std::min<int64_t>(shape.relative_buckets, 32);
}

void PositionTables::Rotary::build(double base, int64_t head_size, int64_t longest) {
  numbers.clear();
  if (base <= 0) return;
  const int64_t pairs = head_size / 2;
  numbers.resize(static_cast<size_t>(2 * longest * pairs));
  float* const cosine = numbers.data();
  float* const sine = cosine + longest * pairs;
  for (int64_t j = 0; j < pairs; ++j) {
    const auto power = static_cast<float>(
        std::pow(base, 2.0 * static_cast<double>(j) / static_cast<double>(head_size)));
    const float frequency = 1.0f / power;
    for (int64_t p = 0; p < longest; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      cosine[p * pairs + j] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sine[p * pairs + j] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void PositionTables::build(const EncoderShape& shape, const EncoderWeights& weights,
                           int64_t longest) {
  longest_ = longest;
  global_.build(shape.rotary_base, shape.head_size(), longest);
  local_.build(shape.local_window > 0 ? shape.local_rotary_base : 0.0f, shape.head_size(), longest);
  shift_.clear();
  if (shape.relative_buckets == 0) return;
  constexpr int64_t kBehind = 16;  // readable behind the last distance
  ld_shift_ = 2 * longest + kBehind;
  shift_.resize(static_cast<size_t>(shape.heads * ld_shift_));
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    const float* row =
        weights.relative + relative_bucket(distance, bucket_count(shape)) * shape.heads;
    for (int64_t h = 0; h < shape.heads; ++h) {
      shift_[static_cast<size_t>(h * ld_shift_ + longest + distance)] = row[h];
    }
  }
}

void PositionTables::add_shift_gradient(const EncoderShape& shape, const float* d_shift,
                                        float* relative) const {
  for (int64_t distance = 1 - longest_; distance < longest_; ++distance) {
    float* row = relative + relative_bucket(distance, bucket_count(shape)) * shape.heads;
    for (int64_t h = 0; h < shape.heads; ++h)
      row[h] += d_shift[h * ld_shift_ + longest_ + distance];
  }
}

void rotate_sequence(const EncoderShape& shape, const PositionTables& tables, bool local,
                     int64_t length, float* qkv, bool backward) {
  if (tables.cosines(local) == nullptr) return;
  vector_kernels().rotate({length, shape.heads, shape.head_size(), qkv, 3 * shape.hidden,
                           tables.cosines(local), tables.sines(local), backward});
}

}  // namespace simile
