// SPDX-License-Identifier: Apache-2.0
// Small symmetric matrices in double precision, by Eigen (https://eigen.tuxfamily.org). One thread:
// the same bits whatever the number of threads.
#pragma once

#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct SymmetricEigen {
  std::vector<double> values;  // [n], falling
  Matrix<double> vectors;  // [n, n], row i: the unit vector of values[i], its largest number > 0
};

// A [n, n], symmetric and finite: A = sum of values[i] v_i v_i^T. Errors: kFailed when the
// iteration does not converge.
SymmetricEigen symmetric_eigen(const Matrix<double>& a);

// A [n, n], symmetric and positive definite: U, upper triangular, with U^T A U = I, so that columns
// whose inner products A holds become orthonormal when multiplied by U. Errors: kFailed when A is
// not positive definite.
Matrix<double> whitening_factor(const Matrix<double>& a);

}  // namespace simile
