// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/sparse_matrix.h"

#include <algorithm>
#include <cmath>

#include "simile/core/float_buffer.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/gram.h"
#include "simile/kernel/packed_matrix.h"
#include "simile/kernel/symmetric.h"
#include "simile/kernel/vector_kernels.h"

namespace simile::detail {
namespace {

constexpr int64_t kPanel = 64;         // columns multiplied at a time, so that they stay in cache
constexpr int64_t kRowsTogether = 16;  // that a thread takes

int64_t size(const SparseMatrix& m) { return static_cast<int64_t>(m.size()); }

Matrix<float> random_columns(int64_t rows, int64_t columns, uint64_t seed) {
  Matrix<float> x(rows, columns);
  run_parallel(rows, 256, [&](int64_t i) {
    RandomStream stream(seed, "subspace", static_cast<uint64_t>(i));
    std::generate_n(x.row(i), columns, [&] { return static_cast<float>(stream.normal()); });
  });
  return x;
}

Matrix<float> multiply_small(const Matrix<float>& x, const Matrix<double>& small) {
  const std::vector<float> numbers(small.values.begin(), small.values.end());
  Matrix<float> y(x.rows, small.cols);
  PackedMatrix(numbers.data(), small.cols, small.rows, MatrixLayout::kRows)
      .multiply(x.values.data(), x.rows, nullptr, y.values.data());
  return y;
}

// How far from 0 rounding may leave an eigenvalue of the inner products. The largest of them is at
// most their trace; after a first pass it is about 1.
double rounding_shift(const Matrix<double>& gram, bool first_pass) {
  double trace = 0, largest = 0;
  for (int64_t j = 0; j < gram.cols; ++j) {
    trace += gram.at(j, j);
    largest = std::max(largest, gram.at(j, j));
  }
  return std::max(first_pass ? 1e-7 * trace : 1e-6 * largest, 1e-30);
}

// One pass leaves columns that lie nearly in the space of others shorter than 1, two more hardly
// any. Columns of zeros stay.
void make_orthonormal(int64_t passes, Matrix<float>& x) {
  for (int64_t pass = 0; pass < passes; ++pass) {
    Matrix<double> gram = gram_matrix(x.values.data(), x.rows, x.cols);
    const double shift = rounding_shift(gram, pass == 0);
    for (int64_t j = 0; j < x.cols; ++j) gram.at(j, j) += shift;
    x = multiply_small(x, whitening_factor(gram));
  }
}

// The columns of Q E that belong to the k largest eigenvalues.
Matrix<double> leading_vectors(const SymmetricEigen& eigen, int64_t k) {
  const int64_t l = eigen.vectors.cols;
  Matrix<double> columns(l, k);
  for (int64_t i = 0; i < l; ++i) {
    for (int64_t j = 0; j < k; ++j) columns.at(i, j) = eigen.vectors.at(j, i);
  }
  return columns;
}

void fix_signs(Matrix<float>& vectors) {
  std::vector<float> largest(static_cast<size_t>(vectors.cols));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < vectors.cols; ++j) {
      float& most = largest[static_cast<size_t>(j)];
      if (std::abs(vectors.at(i, j)) > std::abs(most)) most = vectors.at(i, j);
    }
  }
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < vectors.cols; ++j) {
      if (largest[static_cast<size_t>(j)] < 0) vectors.at(i, j) = -vectors.at(i, j);
    }
  }
}

}  // namespace

Matrix<float> multiply(const SparseMatrix& m, bool transposed, const Matrix<float>& x) {
  Matrix<float> y(size(m), x.cols);
  FloatBuffer panel;
  panel.reserve(x.rows * kPanel);
  for (int64_t first = 0; first < x.cols; first += kPanel) {
    const int64_t width = std::min(kPanel, x.cols - first);
    run_parallel(x.rows, 1024, [&](int64_t i) {
      std::copy_n(x.row(i) + first, width, panel.data() + i * width);
    });
    run_parallel(size(m), kRowsTogether, [&](int64_t i) {
      const SparseRow& row = m[static_cast<size_t>(i)];
      vector_kernels().weighted_rows({static_cast<int64_t>(row.places.size()), row.places.data(),
                                      (transposed ? row.column : row.row).data(), panel.data(),
                                      width, width, y.row(i) + first});
    });
  }
  return y;
}

TruncatedSvd truncated_svd(const SparseMatrix& m, const SvdOptions& options, const WorkDone& done) {
  const int64_t columns = std::min(options.rank + options.oversample, size(m));
  const int64_t products = 2 * options.iterations + 2;
  int64_t multiplied = 0;
  const auto times = [&](bool transposed, const Matrix<float>& x) {
    Matrix<float> y = multiply(m, transposed, x);
    done(++multiplied, products);
    return y;
  };
  Matrix<float> q = times(false, random_columns(size(m), columns, options.seed));
  for (int64_t i = 0; i < options.iterations; ++i) {
    make_orthonormal(1, q);
    q = times(true, q);
    make_orthonormal(1, q);
    q = times(false, q);
  }
  make_orthonormal(3, q);
  const Matrix<float> b = times(true, q);
  const SymmetricEigen eigen = symmetric_eigen(gram_matrix(b.values.data(), b.rows, b.cols));
  TruncatedSvd svd{multiply_small(q, leading_vectors(eigen, options.rank)), {}};
  for (int64_t j = 0; j < options.rank; ++j) {
    svd.values.push_back(std::sqrt(std::max(eigen.values[static_cast<size_t>(j)], 0.0)));
  }
  fix_signs(svd.left);
  return svd;
}

}  // namespace simile::detail
