// SPDX-License-Identifier: Apache-2.0
// Matrix products of bfloat16 numbers, summed in float, on the processors that have instructions
// for them: tiles (AMX), or vectors (AVX-512-BF16). Both read the same packed matrix.
//
// Plain functions like those of vector_kernels.h: single-threaded, without allocation; a row's
// results do not depend on the rows beside it. k runs in steps of 32; within a step tiles add up
// the even and the odd products apart, vectors one pair after the other, so the two differ by
// rounding. Numbers below the smallest normal float count as zero.
#pragma once

#include <cstdint>

namespace simile {

enum class BfloatIsa { kAvx512, kAmx };

// C [m, n] = A [m, k] B (+ bias, or + C), B given as panels.
struct BfloatCall {
  int64_t m, n, k;
  const float* a;  // [m, k]; rounded here
  int64_t lda;
  const uint16_t* panels;
  float* c;  // [m, n]
  int64_t ldc;
  const float* bias;        // [n] or null
  uint16_t* scratch;        // bfloat_scratch(k, m), aligned to 64 bytes
  bool accumulate = false;  // add to what C holds (then no bias)
};

// C [m, n] += A [m, k] B, both given rounded and packed.
struct BfloatPackedCall {
  int64_t m, n, k;
  const uint16_t* left;  // of pack_left_columns()
  const uint16_t* panels;
  float* c;
  int64_t ldc;
};

struct BfloatKernels {
  BfloatIsa isa;
  const char* name;  // "amx"

  // Rounds and packs B [k, n] as panels: from w [n, k] (B = w transposed), or rows first ..
  // first + count - 1 of it from b [count, n]; `first` is a multiple of kBfloatStep, and rows from
  // first + count up to the next multiple become zero.
  void (*pack_rows)(const float* w, int64_t n, int64_t k, int64_t ldw, uint16_t* panels);
  void (*pack_columns)(const float* b, int64_t n, int64_t k, int64_t first, int64_t count,
                       int64_t ldb, uint16_t* panels);
  // The same for A [m, k] on the left: columns first .. of it, from a [count, m].
  void (*pack_left_columns)(const float* a, int64_t m, int64_t k, int64_t first, int64_t count,
                            int64_t lda, uint16_t* left);
  void (*matmul)(const BfloatCall& call);
  void (*matmul_packed)(const BfloatPackedCall& call);
};

constexpr int64_t kBfloatStep = 32;   // of k
constexpr int64_t kBfloatPanel = 32;  // columns
constexpr int64_t kBfloatRows = 128;  // of A, rounded at a time

// Numbers that panels of B [k, n] take: [ceil(n / 32), ceil(k / 32), 2, 16, 16, 2], where
// [p, s, h, i, j, o] is row 32 s + 2 i + o, column 32 p + 16 h + j, zero beyond the matrix. Packed
// A [n, k] has the same size; there it is column 32 s + 2 j + o, row 32 p + 16 h + i.
constexpr int64_t bfloat_panel_size(int64_t n, int64_t k) {
  return (n + kBfloatPanel - 1) / kBfloatPanel * kBfloatPanel *
         ((k + kBfloatStep - 1) / kBfloatStep) * kBfloatStep;
}
constexpr int64_t bfloat_scratch(int64_t k, int64_t m = kBfloatRows) {
  return (m < kBfloatRows ? (m + 31) / 32 * 32 : kBfloatRows) *
         ((k + kBfloatStep - 1) / kBfloatStep) * kBfloatStep;
}

// The table for this processor, or null where it has no such instructions. SIMILE_ISA below avx512
// (vector_kernels.h) leaves it without.
const BfloatKernels* bfloat_kernels();

// The table of one kind, or null when this processor, system or build does not have it.
const BfloatKernels* bfloat_kernels_for(BfloatIsa isa);

}  // namespace simile
