// SPDX-License-Identifier: Apache-2.0
// Products of tiles of bytes (AMX): 32 x 32 sums in four tiles, two tiles of A, two of B.
#ifdef SIMILE_VNNI
#include <immintrin.h>
#include <stdint.h>

#include "simile/kernel/byte_kernels.h"

namespace simile {
namespace {

#include "simile/kernel/detail/amx_tiles.inc"
#include "simile/kernel/detail/byte_quads.inc"

constexpr int kSumsRow = kBytePanel * 4;  // bytes

// A block of 32 rows, or of 16.
template <bool kLower>
inline __attribute__((always_inline)) void multiply_tiles(const ByteBlock<uint8_t>& block) {
  _tile_loadd(0, block.start, 0);
  _tile_loadd(1, block.start + kTileSide, 0);
  if constexpr (kLower) {
    _tile_loadd(2, block.start, 0);
    _tile_loadd(3, block.start + kTileSide, 0);
  }
  const uint8_t* a = block.left;
  const int8_t* b = block.tiles;
  for (int64_t s = 0; s < block.steps; ++s, a += 2 * kTileBytes, b += 2 * kTileBytes) {
    _tile_loadd(4, a, kByteStep);
    _tile_loadd(6, b, kByteStep);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, b + kTileBytes, kByteStep);
    _tile_dpbusd(1, 4, 7);
    if constexpr (kLower) {
      _tile_loadd(5, a + kTileBytes, kByteStep);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, block.sums, kSumsRow);
  _tile_stored(1, block.sums + kTileSide, kSumsRow);
  if constexpr (kLower) {
    _tile_stored(2, block.sums + kTileSide * kBytePanel, kSumsRow);
    _tile_stored(3, block.sums + kTileSide * kBytePanel + kTileSide, kSumsRow);
  }
}

struct AmxLayout : QuadLayout {
  static inline __attribute__((always_inline)) void multiply(const ByteBlock<uint8_t>& block,
                                                             int64_t rows) {
    finish_writing(block.left);
    if (rows > kTileSide) {
      multiply_tiles<true>(block);
    } else {
      multiply_tiles<false>(block);
    }
    finish_writing(block.sums);
  }
};

void matmul(const ByteCall& call) {
  start_tiles();
  multiply_bytes<AmxLayout>(call);
  _tile_release();
}

}  // namespace

extern const ByteKernels kByteKernelsAmx;
const ByteKernels kByteKernelsAmx = {ByteIsa::kAmx, "amx", matmul};

}  // namespace simile
#endif
