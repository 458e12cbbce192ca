// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/byte_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace simile {

namespace {

constexpr int64_t kHalf = kBytePanel / 2, kQuad = 4;

// Where row i, column j of a panel's numbers lie.
int64_t place_of(int64_t i, int64_t j) {
  const int64_t tile = i / kByteStep * 2 + j / kHalf;
  return (tile * 16 + i % kByteStep / kQuad) * kHalf * kQuad + j % kHalf * kQuad + i % kQuad;
}

// `columns` rows of w [, k] as one panel.
void pack_panel(const int8_t* numbers, const float* scales, int64_t columns, int64_t k,
                int8_t* panel) {
  std::memset(panel, 0, static_cast<size_t>(byte_panel_size(1, k)));
  std::memcpy(panel, scales, static_cast<size_t>(columns) * sizeof(float));
  int8_t* const tiles = panel + kByteHeader;
  for (int64_t j = 0; j < columns; ++j) {
    const int8_t* const row = numbers + j * k;
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i += kQuad) {
      const int64_t count = std::min(kQuad, k - i);
      for (int64_t o = 0; o < count; ++o) sum += row[i + o];
      std::memcpy(tiles + place_of(i, j), row + i, static_cast<size_t>(count));
    }
    sum *= -128;
    std::memcpy(panel + (kBytePanel + j) * kQuad, &sum, sizeof sum);
  }
}

// w [k] R / P
void rotate_row(const float* w, int64_t k, float* to) {
  const int64_t block = std::max(kRotatedApart, rotated_block(k));
  const float part = static_cast<float>(kRotatedApart) / static_cast<float>(block);
  for (int64_t i = 0; i < k; ++i) to[i] = w[i] * part;
  for (int64_t half = kRotatedApart; half < block; half *= 2) {
    for (int64_t i = 0; i < k; i += 2 * half) {
      float* __restrict const first = to + i;
      float* __restrict const second = first + half;
      for (int64_t j = 0; j < half; ++j) {
        const float a = first[j], b = second[j];
        first[j] = a + b;
        second[j] = a - b;
      }
    }
  }
}

// The least float of 17 significant bits that is not below x > 0.
float round_up(float x) {
  constexpr uint32_t kDropped = (1u << 7) - 1;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + kDropped) & ~kDropped;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

}  // namespace

void pack_byte_rows(const float* w, int64_t n, int64_t k, int64_t ldw, int8_t* panels) {
  std::vector<float> row(static_cast<size_t>(k));
  std::vector<int8_t> numbers(static_cast<size_t>(kBytePanel * k));
  float scales[kBytePanel];
  for (int64_t j = 0; j < n; j += kBytePanel, panels += byte_panel_size(1, k)) {
    const int64_t columns = std::min(kBytePanel, n - j);
    for (int64_t i = 0; i < columns; ++i) {
      rotate_row(w + (j + i) * ldw, k, row.data());
      quantise_rows(row.data(), 1, k, numbers.data() + i * k, scales + i);
    }
    pack_panel(numbers.data(), scales, columns, k, panels);
  }
}

void pack_byte_rows(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                    int8_t* panels) {
  std::vector<float> w(static_cast<size_t>(kBytePanel * k));
  for (int64_t j = 0; j < n; j += kBytePanel, panels += byte_panel_size(1, k)) {
    const int64_t columns = std::min(kBytePanel, n - j);
    for (int64_t i = 0; i < columns * k; ++i) w[i] = numbers[j * k + i] * scales[j + i / k];
    pack_byte_rows(w.data(), columns, k, k, panels);
  }
}

bool quantise_rows(const float* values, int64_t rows, int64_t columns, int8_t* numbers,
                   float* scales) {
  constexpr float kWhole = 12582912;  // 1.5 * 2^23: adding it rounds
  for (int64_t i = 0; i < rows; ++i, values += columns, numbers += columns) {
    int32_t most = 0;  // bits without a sign are ordered as the numbers
    for (int64_t j = 0; j < columns; ++j) {
      int32_t bits;
      std::memcpy(&bits, values + j, sizeof bits);
      most = std::max(most, bits & 0x7fffffff);
    }
    float largest;
    std::memcpy(&largest, &most, sizeof largest);
    if (!std::isfinite(largest)) return false;
    // So small that the scale would lose bits as a subnormal number: treated as zero.
    const float scale = largest < 1e-30f ? 0.0f : round_up(largest / 127.0f);
    const float divisor = scale == 0 ? std::numeric_limits<float>::infinity() : scale;
    for (int64_t j = 0; j < columns; ++j) {
      const float number = (values[j] / divisor + kWhole) - kWhole;
      numbers[j] = static_cast<int8_t>(std::clamp(number, -127.0f, 127.0f));
    }
    scales[i] = scale;
  }
  return true;
}

}  // namespace simile
