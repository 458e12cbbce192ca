// SPDX-License-Identifier: Apache-2.0
// Numerics of embeddings in double precision: inner products of columns, small symmetric matrices,
// the principal plane, and how vectors lie in their space.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

// Summed in double precision, row after row. At least one row.
std::vector<float> mean_row(const Matrix<float>& rows);

// The inner products of a tall matrix's columns: X^T X of X [rows, columns].
//
// Each block of 256 rows is multiplied in single precision, and the blocks are added in double
// precision in an order that `rows` alone decides: the same bits with any number of threads. All
// threads. Memory: at most 16 matrices [columns, columns] of doubles.
Matrix<double> gram_matrix(const float* x, int64_t rows, int64_t columns);

// Small symmetric matrices, by Eigen (https://eigen.tuxfamily.org), on one thread.
struct SymmetricEigen {
  std::vector<double> values;  // [n], falling
  Matrix<double> vectors;  // [n, n], row i: the unit vector of values[i], its largest number > 0
};

// A [n, n], symmetric and finite: A = sum of values[i] v_i v_i^T. Errors: kFailed: no convergence.
SymmetricEigen symmetric_eigen(const Matrix<double>& a);

// A [n, n], symmetric and positive definite: U, upper triangular, with U^T A U = I, so that columns
// with the inner products A become orthonormal when multiplied by U. Errors: kFailed for another A.
Matrix<double> whitening_factor(const Matrix<double>& a);

struct PlanePoint {
  double x = 0, y = 0;
};

// The plane in which points vary most (principal components), for pictures of many dimensions.
// shares() says how much of the variance it shows, which is often little.
class PrincipalPlane {
 public:
  PrincipalPlane() = default;
  // points [n, D], finite. The same bits with any number of threads. An axis along which nothing
  // varies beyond rounding is left out: then all points have 0 there.
  explicit PrincipalPlane(const Matrix<float>& points);

  // The place of a point [D] in the plane. The mean of the points that made the plane is at 0, and
  // the furthest of them is at distance 1. The largest number of each axis is positive.
  PlanePoint place(const float* point) const;

  // The share of the variance along each axis, 0 to 1; 0 where nothing varies.
  const std::array<double, 2>& shares() const { return shares_; }

 private:
  std::vector<float> mean_;
  Matrix<double> axes_;  // [2, D]
  std::array<double, 2> shares_ = {0, 0};
  double scale_ = 1;
};

// The geometry of vectors, whatever they represent. Rows need not have length 1: all but the
// principal shares are of their directions, and a row of zeros has none (its cosines are 0).
//
//   alignment    mean of |u - v|^2 over the pairs that belong together, 0 (equal) to 4
//   uniformity   log of the mean of exp(-2 |x - y|^2) over all pairs of rows, 0 (all alike) to -8;
//                lower is more uniform (both: Wang & Isola, 2020, with alpha = 2 and t = 2)
//   mean cosine  of all pairs of rows: near 0 where directions are spread, near 1 where vectors
//                fill a narrow cone (anisotropy: Ethayarajh, 2019)
//   principal    the share of the variance along each of the first principal components
//
// The same bits with any number of threads.

// The alignment of rows i of both matrices, which have equal shapes; 0 without rows.
double alignment_of(const Matrix<float>& left, const Matrix<float>& right);

// Time rows^2 D. 0 for fewer than two rows.
double uniformity_of(const Matrix<float>& vectors);

// 0 for fewer than two rows.
double mean_cosine(const Matrix<float>& vectors);

// Falling, one for each dimension; zeros if nothing varies.
std::vector<double> principal_shares(const Matrix<float>& vectors);

}  // namespace simile
