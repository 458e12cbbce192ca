// SPDX-License-Identifier: Apache-2.0
// In what numbers two matrices are multiplied, and matrices packed for many products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/memory.h"

namespace simile {

// What is not such a product is in float with each.
enum class ProductType {
  kFloat,
  kBfloat,  // each number rounded to bfloat16, of 8 significant bits, first (BfloatMatrix)
  kByte     // rounded to bytes with a scale a row, sums exact (byte_kernels.h): for inference alone
};

// The names of ProductType, in its order: fp32, bf16, int8.
const std::vector<std::string>& precision_names();

// Errors (kRecipe): none of these names.
ProductType parse_precision(const std::string& name);

// Of products on the CPU. Errors (kRecipe): none of these names, or one that this processor has no
// instructions for, with those that it has.
ProductType choose_precision(const std::string& name);

// How the numbers of a matrix B [k, n] lie.
enum class MatrixLayout {
  kColumns,  // [n, k]: column after column, as a linear layer keeps W of y = x W^T
  kRows,     // [k, n]: row after row
};

// A matrix B [k, n] in the order in which the blocked product reads it, for many products A B.
//
// A row of a product has the same bits whatever rows and columns are computed beside it and with
// however many threads; they follow from the instruction set (vector_kernels.h). Errors: kFailed
// without memory.
class PackedMatrix {
 public:
  // set_columns() starts at a multiple of it.
  static constexpr int64_t kColumnBlock = 256;

  PackedMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout);
  // Room for n columns that set_columns() gives.
  PackedMatrix(int64_t n, int64_t k);

  int64_t columns() const { return n_; }

  // Columns first .. first + count - 1 from `b` [count, k].
  void set_columns(int64_t first, int64_t count, const float* b);

  // c [m, n] = a [m, k] B + bias [n], or without bias where it is null. All threads.
  void multiply(const float* a, int64_t m, const float* bias, float* c) const;

  // The same of columns first .. first + count - 1 alone, `first` as for set_columns(), with `bias`
  // that of the first: c[i * stride + j] for j < count. One thread.
  void multiply_columns(const float* a, int64_t m, int64_t first, int64_t count, const float* bias,
                        float* c, int64_t stride) const;

  // c = a B of rows of a that lie lda apart and of c ldc apart. One thread.
  void multiply_rows(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc) const;
  // The same of a given transposed, [k, m].
  void multiply_transposed(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc) const;

 private:
  int64_t n_, k_;
  FloatBuffer panels_;
};

struct BfloatKernels;

// PackedMatrix for products of bfloat16 numbers: a matrix B [k, n], rounded and in the order in
// which such a product reads it. What is multiplied with it is rounded on the way; sums are floats.
//
// A row of a product has the same bits whatever rows and columns are computed beside it and with
// however many threads; they follow from the instructions (bfloat_kernels.h). Errors: kFailed
// without memory, and by the constructors where the processor has no such instructions.
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
