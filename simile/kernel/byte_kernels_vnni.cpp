// SPDX-License-Identifier: Apache-2.0
// Products of bytes by AVX-512 VNNI: 8 x 32 sums in registers.
#ifdef SIMILE_VNNI
#include <immintrin.h>
#include <stdint.h>

#include "simile/kernel/byte_kernels.h"

namespace simile {
namespace {

#include "simile/kernel/detail/byte_quads.inc"

constexpr int kSumRows = 8;

// Rows `row` .. of the block, all of one tile of A.
inline void multiply_some(const ByteBlock<uint8_t>& block, int64_t row) {
  __m512i sum[kSumRows][2];
  for (int r = 0; r < kSumRows; ++r) {
    for (int h = 0; h < 2; ++h) sum[r][h] = _mm512_loadu_si512(block.start + h * kTileSide);
  }
  const uint8_t* a = block.left + row / kTileSide * kTileBytes + row % kTileSide * kByteStep;
  const int8_t* b = block.tiles;
  for (int64_t s = 0; s < block.steps; ++s, a += 2 * kTileBytes, b += 2 * kTileBytes) {
    for (int64_t i = 0; i < kTileSide; ++i) {
      const __m512i left_half = _mm512_loadu_si512(b + i * kByteStep);
      const __m512i right_half = _mm512_loadu_si512(b + kTileBytes + i * kByteStep);
#pragma GCC unroll 8
      for (int r = 0; r < kSumRows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, a + r * kByteStep + 4 * i, sizeof four);
        const __m512i numbers = _mm512_set1_epi32(four);
        sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], numbers, left_half);
        sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], numbers, right_half);
      }
    }
  }
  for (int r = 0; r < kSumRows; ++r) {
    _mm512_storeu_si512(block.sums + (row + r) * kBytePanel, sum[r][0]);
    _mm512_storeu_si512(block.sums + (row + r) * kBytePanel + kTileSide, sum[r][1]);
  }
}

struct VnniLayout : QuadLayout {
  static void multiply(const ByteBlock<uint8_t>& block, int64_t rows) {
    for (int64_t row = 0; row < rows; row += kSumRows) multiply_some(block, row);
  }
};

}  // namespace

extern const ByteKernels kByteKernelsVnni;
const ByteKernels kByteKernelsVnni = {ByteIsa::kVnni, "vnni", multiply_bytes<VnniLayout>};

}  // namespace simile
#endif
