// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 tiles (AMX): 32 x 32 numbers of C in four tiles, two tiles of A, two of B.
#ifdef SIMILE_BFLOAT
#include <immintrin.h>
#include <stdint.h>

#include "simile/kernel/bfloat_kernels.h"

namespace simile {
namespace {

#include "simile/kernel/detail/amx_tiles.inc"
#include "simile/kernel/detail/bfloat_pack.inc"

constexpr int kTileBytes = 64;  // of a row

inline int64_t row_bytes(const Block& block) {
  return block.ldc * static_cast<int64_t>(sizeof(float));
}

// What the sums of both halves of the columns start from: what C holds, the bias in every row, or
// zero.
inline void start_upper(const Block& block) {
  const float* const from = block.accumulate ? block.c : block.bias;
  if (from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    return;
  }
  const int64_t stride = block.accumulate ? row_bytes(block) : 0;
  _tile_loadd(0, from, stride);
  _tile_loadd(1, from + kTileSide, stride);
}
inline void start_lower(const Block& block) {
  const float* const from = block.accumulate ? block.c + kTileSide * block.ldc : block.bias;
  if (from == nullptr) {
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const int64_t stride = block.accumulate ? row_bytes(block) : 0;
  _tile_loadd(2, from, stride);
  _tile_loadd(3, from + kTileSide, stride);
}

inline void store_upper(const Block& block) {
  _tile_stored(0, block.c, row_bytes(block));
  _tile_stored(1, block.c + kTileSide, row_bytes(block));
}
inline void store_lower(const Block& block) {
  float* const lower = block.c + kTileSide * block.ldc;
  _tile_stored(2, lower, row_bytes(block));
  _tile_stored(3, lower + kTileSide, row_bytes(block));
}

// A block of 32 rows, or of 16.
template <bool kLower>
inline __attribute__((always_inline)) void multiply_tiles(const Block& block) {
  finish_writing(block.a);
  start_upper(block);
  if constexpr (kLower) start_lower(block);
  const uint16_t *a = block.a, *b = block.b;
  for (int64_t s = 0; s < block.steps; ++s, a += 2 * kTileNumbers, b += 2 * kTileNumbers) {
    _tile_loadd(4, a, kTileBytes);
    _tile_loadd(6, b, kTileBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kTileNumbers, kTileBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kLower) {
      _tile_loadd(5, a + kTileNumbers, kTileBytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  store_upper(block);
  if constexpr (kLower) store_lower(block);
}

inline void multiply_rows(const Block& block, int64_t rows) {
  if (rows > kTileSide) {
    multiply_tiles<true>(block);
  } else {
    multiply_tiles<false>(block);
  }
}

void matmul(const BfloatCall& call) {
  start_tiles();
  for (int64_t first = 0; first < call.m; first += kBfloatRows) {
    const int64_t rows = smaller(kBfloatRows, call.m - first);
    pack_left(call.a + first * call.lda, call.lda, rows, call.k, call.scratch);
    multiply_rounded(call, first, rows, multiply_rows);
  }
  _tile_release();
}

void matmul_packed(const BfloatPackedCall& call) {
  start_tiles();
  multiply_packed(call, multiply_rows);
  _tile_release();
}

}  // namespace

extern const BfloatKernels kAmxBfloatKernels;
const BfloatKernels kAmxBfloatKernels = {BfloatIsa::kAmx,   "amx",  pack_rows,    pack_columns,
                                         pack_left_columns, matmul, matmul_packed};

}  // namespace simile
#endif
