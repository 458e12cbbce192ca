// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 vectors (AVX-512-BF16): 8 x 32 numbers of C in registers.
#ifdef SIMILE_BFLOAT
#include <immintrin.h>
#include <stdint.h>

#include "simile/kernel/bfloat_kernels.h"

namespace simile {
namespace {

#include "simile/kernel/detail/bfloat_pack.inc"

constexpr int kSumRows = 8;

// Rows `row` .. of the block, all of one tile of A.
inline void multiply_some(const Block& block, int64_t row) {
  __m512 sum[kSumRows][2];
  const float* const from = block.accumulate ? block.c + row * block.ldc : block.bias;
  const int64_t stride = block.accumulate ? block.ldc : 0;
  for (int r = 0; r < kSumRows; ++r) {
    for (int h = 0; h < 2; ++h) {
      sum[r][h] = from == nullptr ? _mm512_setzero_ps()
                                  : _mm512_loadu_ps(from + r * stride + h * kTileSide);
    }
  }
  const uint16_t *a = block.a + row * kBfloatStep, *b = block.b;
  for (int64_t s = 0; s < block.steps; ++s, a += 2 * kTileNumbers, b += 2 * kTileNumbers) {
    for (int64_t i = 0; i < kTileSide; ++i) {
      const __m512bh left_half = (__m512bh)_mm512_loadu_si512(b + i * kBfloatStep);
      const __m512bh right_half = (__m512bh)_mm512_loadu_si512(b + kTileNumbers + i * kBfloatStep);
#pragma GCC unroll 8
      for (int r = 0; r < kSumRows; ++r) {
        int32_t pair;
        __builtin_memcpy(&pair, a + r * kBfloatStep + 2 * i, sizeof pair);
        const __m512bh numbers = (__m512bh)_mm512_set1_epi32(pair);
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], numbers, left_half);
        sum[r][1] = _mm512_dpbf16_ps(sum[r][1], numbers, right_half);
      }
    }
  }
  for (int r = 0; r < kSumRows; ++r) {
    float* c = block.c + (row + r) * block.ldc;
    _mm512_storeu_ps(c, sum[r][0]);
    _mm512_storeu_ps(c + kTileSide, sum[r][1]);
  }
}

void multiply_rows(const Block& block, int64_t rows) {
  for (int64_t row = 0; row < rows; row += kSumRows) multiply_some(block, row);
}

void matmul(const BfloatCall& call) {
  for (int64_t first = 0; first < call.m; first += kBfloatRows) {
    const int64_t rows = smaller(kBfloatRows, call.m - first);
    pack_left(call.a + first * call.lda, call.lda, rows, call.k, call.scratch);
    multiply_rounded(call, first, rows, multiply_rows);
  }
}

void matmul_packed(const BfloatPackedCall& call) { multiply_packed(call, multiply_rows); }

}  // namespace

extern const BfloatKernels kAvx512BfloatKernels;
const BfloatKernels kAvx512BfloatKernels = {BfloatIsa::kAvx512, "avx512_bf16",     pack_rows,
                                            pack_columns,       pack_left_columns, matmul,
                                            matmul_packed};

}  // namespace simile
#endif
