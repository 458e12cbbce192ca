// SPDX-License-Identifier: Apache-2.0
// A matrix B [k, n] in the order in which the blocked product reads it, for many products A B.
//
// A row of a product has the same bits whatever rows and columns are computed beside it and with
// however many threads; they follow from the instruction set (vector_kernels.h). Errors: kFailed
// without memory.
#pragma once

#include <cstdint>

#include "simile/core/float_buffer.h"

namespace simile {

// How the numbers of a matrix B [k, n] lie.
enum class MatrixLayout {
  kColumns,  // [n, k]: column after column, as a linear layer keeps W of y = x W^T
  kRows,     // [k, n]: row after row
};

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

}  // namespace simile
