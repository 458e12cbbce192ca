// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/embedding_geometry.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/parallel.h"
#include "simile/kernel/gram.h"
#include "simile/kernel/symmetric.h"

namespace simile {
namespace {

constexpr int64_t kRowsAtOnce = 16;
constexpr double kRoundedShare = 1e-12;  // of all squares: less does not vary

double dot_of(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

Matrix<double> directions_of(const Matrix<float>& vectors) {
  Matrix<double> unit(vectors.rows, vectors.cols);
  for (int64_t i = 0; i < vectors.rows; ++i) {
    std::copy_n(vectors.row(i), vectors.cols, unit.row(i));
    const double length = std::sqrt(dot_of(unit.row(i), unit.row(i), unit.cols));
    if (length == 0) continue;
    for (int64_t d = 0; d < unit.cols; ++d) unit.at(i, d) /= length;
  }
  return unit;
}

double squared_distance(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

double alignment_of(const Matrix<float>& left, const Matrix<float>& right) {
  if (left.rows == 0) return 0;
  const Matrix<double> u = directions_of(left), v = directions_of(right);
  double sum = 0;
  for (int64_t i = 0; i < u.rows; ++i) sum += squared_distance(u.row(i), v.row(i), u.cols);
  return sum / static_cast<double>(u.rows);
}

double uniformity_of(const Matrix<float>& vectors) {
  if (vectors.rows < 2) return 0;
  const Matrix<double> unit = directions_of(vectors);
  std::vector<double> sums(static_cast<size_t>(unit.rows), 0.0);
  run_parallel(unit.rows, kRowsAtOnce, [&](int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < i; ++j) {
      sum += std::exp(-2 * squared_distance(unit.row(i), unit.row(j), unit.cols));
    }
    sums[static_cast<size_t>(i)] = sum;
  });
  const auto n = static_cast<double>(unit.rows);
  return std::log(std::accumulate(sums.begin(), sums.end(), 0.0) / (n * (n - 1) / 2));
}

// The squared length of the sum of n unit vectors is n + n (n - 1) times their mean cosine.
double mean_cosine(const Matrix<float>& vectors) {
  if (vectors.rows < 2) return 0;
  const Matrix<double> unit = directions_of(vectors);
  std::vector<double> sum(static_cast<size_t>(unit.cols), 0.0);
  double own = 0;  // a row of zeros adds nothing
  for (int64_t i = 0; i < unit.rows; ++i) {
    for (int64_t d = 0; d < unit.cols; ++d) sum[static_cast<size_t>(d)] += unit.at(i, d);
    own += dot_of(unit.row(i), unit.row(i), unit.cols);
  }
  const auto n = static_cast<double>(unit.rows);
  return (dot_of(sum.data(), sum.data(), unit.cols) - own) / (n * (n - 1));
}

std::vector<double> principal_shares(const Matrix<float>& vectors) {
  std::vector<double> shares(static_cast<size_t>(vectors.cols), 0.0);
  if (vectors.rows == 0) return shares;
  std::vector<double> mean(shares.size(), 0.0);
  double squares = 0, all = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t d = 0; d < vectors.cols; ++d) {
      mean[static_cast<size_t>(d)] += vectors.at(i, d) / static_cast<double>(vectors.rows);
      squares += static_cast<double>(vectors.at(i, d)) * vectors.at(i, d);
    }
  }
  Matrix<float> centred = vectors;
  for (int64_t i = 0; i < centred.rows; ++i) {
    for (int64_t d = 0; d < centred.cols; ++d) {
      centred.at(i, d) = static_cast<float>(vectors.at(i, d) - mean[static_cast<size_t>(d)]);
      all += static_cast<double>(centred.at(i, d)) * centred.at(i, d);
    }
  }
  if (all <= squares * kRoundedShare) return shares;
  const SymmetricEigen eigen =
      symmetric_eigen(gram_matrix(centred.values.data(), centred.rows, centred.cols));
  for (size_t k = 0; k < shares.size(); ++k)
    shares[k] = std::clamp(eigen.values[k] / all, 0.0, 1.0);
  return shares;
}

}  // namespace simile
