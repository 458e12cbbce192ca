// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/symmetric.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "simile/core/error.h"

namespace simile {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd to_eigen(const Matrix<double>& a) {
  return Eigen::Map<const RowMajor>(a.values.data(), a.rows, a.cols);
}

}  // namespace

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

}  // namespace simile
