// SPDX-License-Identifier: Apache-2.0
// Matrix products of bytes with one scale a row, summed exactly in 32 bits: A is rounded row by row
// as it comes, B was rounded by columns when it was packed. Both are rotated first, so that a few
// channels with large numbers do not take the bits of all others (QuaRot, Ashkboos et al. 2024):
//
//   C = A B = (A R) (R B) / P,  R R = P,  R symmetric, of 1, -1 and 0:
//   (A R)_r,i = sum_q (-1)^popcount(p & q) A_r,i + 16 (q - p),  p = floor(i / 16) mod P, q < P
//     the Hadamard matrix of size P over numbers that lie 16 apart, in each block of 16 P;
//     P <= 16 is the largest power of two for which 16 P divides k, or 1
//
//   a_r = max_i |(A R)_ri| / 127,  X_ri = round((A R)_ri / a_r)      (half to even)
//   C_rj = float(sum_i X_ri Q_ji) * (a_r * scale_j) + bias_j
//
// Q and scale: quantise_rows(), of R B / P transposed. R is applied as log2 P steps of sums and
// differences: first of numbers 16 apart, then 32, and so on. Sums of whole numbers have no order,
// and what is done in floats is written without fused operations: every instruction set gives the
// same bits, and a row the same whatever rows are beside it. A row of A R whose largest number is
// below 1e-30 counts as zeros; one that holds a number which is not finite becomes NaN.
//
// Plain functions like those of vector_kernels.h: single-threaded, without allocation.
#pragma once

#include <cstdint>

#include "simile/kernel/vector_kernels.h"

namespace simile {

enum class ByteIsa { kBaseline, kAvx2, kAvx512, kVnni, kAmx };

constexpr int64_t kByteStep = 64;             // of k
constexpr int64_t kBytePanel = 32;            // columns
constexpr int64_t kByteRows = 128;            // of A, rounded at a time
constexpr int64_t kRotatedApart = 16;         // places from a number to the next of its P
constexpr int64_t kLongestByteSum = 1 << 16;  // k at most

// 16 P for rows of k numbers, or less than 32 where P is 1: the largest power of two up to 256 that
// divides k.
constexpr int64_t rotated_block(int64_t k) { return (k | 256) & -(k | 256); }

// C [m, n] = A [m, k] B (+ bias), B given as panels.
struct ByteCall {
  int64_t m, n, k;
  const float* a;  // [m, k]
  int64_t lda;
  const int8_t* panels;  // aligned to 64 bytes
  float* c;              // [m, n]
  int64_t ldc;
  const float* bias;  // [n] or null
  int16_t* scratch;   // byte_scratch(k), aligned to 64 bytes
};

struct ByteKernels {
  ByteIsa isa;
  const char* name;  // "vnni"
  void (*matmul)(const ByteCall& call);
};

// Bytes that panels of B [k, n] take: [ceil(n / 32)] panels, each of the scales of its columns
// (float [32]), of -128 times their sums (int32 [32]), and of numbers [ceil(k / 64), 2, 16, 16, 4],
// where [s, h, i, j, o] is row 64 s + 4 i + o, column 16 h + j; zero beyond the matrix.
constexpr int64_t kByteHeader = 8 * kBytePanel;
constexpr int64_t byte_panel_size(int64_t n, int64_t k) {
  return (n + kBytePanel - 1) / kBytePanel *
         (kByteHeader + kBytePanel * ((k + kByteStep - 1) / kByteStep) * kByteStep);
}
constexpr int64_t byte_scratch(int64_t k) {  // of 16 bits: rounded rows, and one of floats
  return (kByteRows + 2) * ((k + kByteStep - 1) / kByteStep) * kByteStep;
}

// Packs B from w [n, k], B being w transposed: from floats, which must be finite, or from numbers
// and scales of quantise_rows(), as the floats that they stand for. k is at most kLongestByteSum.
void pack_byte_rows(const float* w, int64_t n, int64_t k, int64_t ldw, int8_t* panels);
void pack_byte_rows(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                    int8_t* panels);

// The table for this processor and SIMILE_ISA (vector_kernels.h).
const ByteKernels& byte_kernels();

// The table of one kind, or null when this processor, system or build does not have it.
const ByteKernels* byte_kernels_for(ByteIsa isa);

// Matrices stored in a quarter of the space: one byte a number and one scale a row.
//
//   scale_r = max_c |W_rc| / 127, rounded up to 17 significant bits;  Q_rc = round(W_rc / scale_r)
//
// Hence |W - scale Q| <= scale / 2, and Q scale is exact in a float: quantising it again gives the
// same Q and the same scale. A row of zeros has the scale 0.
//
// values [rows, columns] -> numbers [rows, columns] from -127 to 127 and scales [rows]. Returns
// false, with the output not to be used, when a value is not finite.
bool quantise_rows(const float* values, int64_t rows, int64_t columns, int8_t* numbers,
                   float* scales);

}  // namespace simile
