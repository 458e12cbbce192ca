// SPDX-License-Identifier: Apache-2.0
// packed_matrix.h for products of bfloat16 numbers: a matrix B [k, n], rounded and in the order in
// which such a product reads it. What is multiplied with it is rounded on the way; sums are floats.
//
// A row of a product has the same bits whatever rows and columns are computed beside it and with
// however many threads; they follow from the instructions (bfloat_kernels.h). Errors: kFailed
// without memory, and by the constructors where the processor has no such instructions.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/lent_floats.h"
#include "simile/kernel/packed_matrix.h"

namespace simile {

struct BfloatKernels;

class BfloatMatrix {
 public:
  static constexpr int64_t kColumnBlock = 256;  // multiply_columns() starts at a multiple of it
  static constexpr int64_t kRowBlock = 128;     // set_rows() starts at a multiple of it

  // With the kernels of this processor, or others (for tests).
  BfloatMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout,
               const BfloatKernels* kernels = nullptr);
  // Room for k rows that set_rows() gives.
  BfloatMatrix(int64_t n, int64_t k, const BfloatKernels* kernels = nullptr);

  int64_t columns() const { return n_; }

  // Rows first .. first + count - 1 of B, a whole number of blocks or the last, from `b`
  // [count, n] with rows ldb apart. Different rows may be set by several threads.
  void set_rows(int64_t first, int64_t count, const float* b, int64_t ldb);

  // As those of PackedMatrix.
  void multiply(const float* a, int64_t m, const float* bias, float* c) const;
  void multiply_columns(const float* a, int64_t m, int64_t first, int64_t count, const float* bias,
                        float* c, int64_t stride) const;
  void multiply_rows(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc) const;

 private:
  uint16_t* panels();
  const uint16_t* panels() const;

  const BfloatKernels* kernels_;
  int64_t n_, k_;
  LentFloats memory_;
};

// Errors (kRecipe): this processor has no instructions for products of bfloat16; the message begins
// with `where`, says what it has and ends with what to do.
void check_bfloat_products(const std::string& where,
                           const std::string& advice = "leave it at fp32");

}  // namespace simile
