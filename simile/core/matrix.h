// SPDX-License-Identifier: Apache-2.0
// A plain row-major matrix that owns its numbers. Embeddings are Matrix<float> of shape [texts, D].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simile {

template <typename T>
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<T> values;  // [rows, cols], row-major

  Matrix() = default;
  Matrix(int64_t rows, int64_t cols, T fill = T())
      : rows(rows), cols(cols), values(static_cast<size_t>(rows * cols), fill) {}

  T* row(int64_t i) { return values.data() + i * cols; }
  const T* row(int64_t i) const { return values.data() + i * cols; }
  T& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * cols + j)]; }
  const T& at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * cols + j)]; }
};

}  // namespace simile
