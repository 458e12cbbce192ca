// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/numerics.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/memory.h"
#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

namespace {

constexpr int64_t kBlock = 256;  // rows multiplied at a time
constexpr int64_t kGroups = 16;  // of blocks, each with its own sum
constexpr int64_t kRowsAtOnce = 16;
constexpr double kRoundedShare = 1e-12;  // of all squares: less does not vary

// The sum over blocks first .. last - 1.
Matrix<double> sum_blocks(const float* x, int64_t rows, int64_t columns, int64_t first,
                          int64_t last) {
  const VectorKernels& kernels = vector_kernels();
  FloatBuffer panels, product;
  panels.reserve(panel_floats(kernels, columns, kBlock));
  product.reserve(columns * columns);
  Matrix<double> sum(columns, columns);
  for (int64_t block = first; block < last; ++block) {
    const int64_t begin = block * kBlock, count = std::min(kBlock, rows - begin);
    const float* const a = x + begin * columns;
    kernels.pack_columns(a, columns, count, columns, panels.data());
    kernels.matmul_transposed(
        {columns, columns, count, a, columns, panels.data(), product.data(), columns});
    for (int64_t i = 0; i < columns * columns; ++i) {
      sum.values[static_cast<size_t>(i)] += product.data()[i];
    }
  }
  return sum;
}

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd to_eigen(const Matrix<double>& a) {
  return Eigen::Map<const RowMajor>(a.values.data(), a.rows, a.cols);
}

double sum_of_squares(const Matrix<float>& points) {
  double sum = 0;
  for (const float x : points.values) sum += static_cast<double>(x) * x;
  return sum;
}

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

std::vector<float> mean_row(const Matrix<float>& rows) {
  std::vector<double> sums(rows.cols, 0.0);
  for (int64_t i = 0; i < rows.rows; ++i) {
    for (int64_t j = 0; j < rows.cols; ++j) sums[j] += rows.at(i, j);
  }
  std::vector<float> mean;
  for (const double sum : sums) {
    mean.push_back(static_cast<float>(sum / static_cast<double>(rows.rows)));
  }
  return mean;
}

Matrix<double> gram_matrix(const float* x, int64_t rows, int64_t columns) {
  const int64_t blocks = (rows + kBlock - 1) / kBlock, groups = std::min(blocks, kGroups);
  std::vector<Matrix<double>> sums(static_cast<size_t>(groups));
  run_parallel(groups, 1, [&](int64_t group) {
    sums[static_cast<size_t>(group)] =
        sum_blocks(x, rows, columns, group * blocks / groups, (group + 1) * blocks / groups);
  });
  Matrix<double> total(columns, columns);
  for (const Matrix<double>& sum : sums) {
    for (size_t i = 0; i < sum.values.size(); ++i) total.values[i] += sum.values[i];
  }
  return total;
}

SymmetricEigen symmetric_eigen(const Matrix<double>& a) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(to_eigen(a));
  SIMILE_CHECK(solver.info() == Eigen::Success, ErrorKind::kFailed,
               "the eigenvalues of a matrix were not found; has it numbers that are not finite?");
  const int64_t n = a.rows;
  SymmetricEigen result{std::vector<double>(static_cast<size_t>(n)), Matrix<double>(n, n)};
  for (int64_t i = 0; i < n; ++i) {
    const auto vector = solver.eigenvectors().col(n - 1 - i);
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    result.values[static_cast<size_t>(i)] = solver.eigenvalues()(n - 1 - i);
    Eigen::Map<Eigen::VectorXd>(result.vectors.row(i), n) =
        vector(largest) < 0 ? Eigen::VectorXd(-vector) : Eigen::VectorXd(vector);
  }
  return result;
}

Matrix<double> whitening_factor(const Matrix<double>& a) {
  const Eigen::LLT<Eigen::MatrixXd> factor(to_eigen(a));
  SIMILE_CHECK(factor.info() == Eigen::Success, ErrorKind::kFailed,
               "a matrix of inner products is not positive definite; are all numbers finite?");
  const Eigen::MatrixXd inverse = factor.matrixU().solve(Eigen::MatrixXd::Identity(a.rows, a.rows));
  Matrix<double> result(a.rows, a.rows);
  Eigen::Map<RowMajor>(result.values.data(), a.rows, a.rows) = inverse;
  return result;
}

PrincipalPlane::PrincipalPlane(const Matrix<float>& points) {
  if (points.rows == 0 || points.cols == 0) return;
  mean_ = mean_row(points);
  axes_ = Matrix<double>(2, points.cols);
  Matrix<float> centred = points;
  for (int64_t i = 0; i < points.rows; ++i) {
    for (int64_t j = 0; j < points.cols; ++j) centred.at(i, j) -= mean_[static_cast<size_t>(j)];
  }
  const double all = sum_of_squares(centred);
  const double least = sum_of_squares(points) * kRoundedShare;
  if (all <= least) return;
  const SymmetricEigen eigen =
      symmetric_eigen(gram_matrix(centred.values.data(), centred.rows, centred.cols));
  for (int64_t k = 0; k < std::min<int64_t>(2, points.cols); ++k) {
    const double varies = eigen.values[static_cast<size_t>(k)];
    if (varies <= std::max(least, all * kRoundedShare)) break;
    shares_[static_cast<size_t>(k)] = std::min(varies / all, 1.0);
    std::copy(eigen.vectors.row(k), eigen.vectors.row(k) + points.cols, axes_.row(k));
  }
  double furthest = 0;
  for (int64_t i = 0; i < points.rows; ++i) {
    const PlanePoint at = place(points.row(i));
    furthest = std::max(furthest, std::hypot(at.x, at.y));
  }
  if (furthest > 0) scale_ = 1 / furthest;
}

PlanePoint PrincipalPlane::place(const float* point) const {
  PlanePoint at;
  for (int64_t j = 0; j < axes_.cols; ++j) {
    const double from_mean = static_cast<double>(point[j]) - mean_[static_cast<size_t>(j)];
    at.x += axes_.at(0, j) * from_mean;
    at.y += axes_.at(1, j) * from_mean;
  }
  return {at.x * scale_, at.y * scale_};
}

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
