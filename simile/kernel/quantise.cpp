// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace simile {
namespace {

// The least float of 17 significant bits that is not below x > 0.
float round_up(float x) {
  constexpr uint32_t kDropped = (1u << 7) - 1;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + kDropped) & ~kDropped;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

bool quantise_row(const float* values, int64_t columns, int8_t* numbers, float& scale) {
  float largest = 0;
  for (int64_t j = 0; j < columns; ++j) {
    if (!std::isfinite(values[j])) return false;
    largest = std::max(largest, std::abs(values[j]));
  }
  // So small that the scale would lose bits as a subnormal number: as good as zero.
  scale = largest < 1e-30f ? 0.0f : round_up(largest / 127.0f);
  for (int64_t j = 0; j < columns; ++j) {
    const float number = scale == 0 ? 0.0f : std::nearbyint(values[j] / scale);
    numbers[j] = static_cast<int8_t>(std::clamp(number, -127.0f, 127.0f));
  }
  return true;
}

}  // namespace

bool quantise_rows(const float* values, int64_t rows, int64_t columns, int8_t* numbers,
                   float* scales) {
  for (int64_t i = 0; i < rows; ++i) {
    if (!quantise_row(values + i * columns, columns, numbers + i * columns, scales[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace simile
