// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/principal_plane.h"

#include <algorithm>
#include <cmath>

#include "simile/kernel/gram.h"
#include "simile/kernel/symmetric.h"

namespace simile {
namespace {

constexpr double kRoundedSquare = 1e-12;  // of all squares: less does not vary

std::vector<float> mean_point(const Matrix<float>& points) {
  std::vector<double> sums(static_cast<size_t>(points.cols), 0.0);
  for (int64_t i = 0; i < points.rows; ++i) {
    for (int64_t j = 0; j < points.cols; ++j) sums[static_cast<size_t>(j)] += points.at(i, j);
  }
  std::vector<float> mean;
  for (const double sum : sums) {
    mean.push_back(static_cast<float>(sum / static_cast<double>(points.rows)));
  }
  return mean;
}

Matrix<float> without_mean(Matrix<float> points, const std::vector<float>& mean) {
  for (int64_t i = 0; i < points.rows; ++i) {
    for (int64_t j = 0; j < points.cols; ++j) points.at(i, j) -= mean[static_cast<size_t>(j)];
  }
  return points;
}

double sum_of_squares(const Matrix<float>& points) {
  double sum = 0;
  for (const float x : points.values) sum += static_cast<double>(x) * x;
  return sum;
}

}  // namespace

PrincipalPlane::PrincipalPlane(const Matrix<float>& points) {
  if (points.rows == 0 || points.cols == 0) return;
  mean_ = mean_point(points);
  axes_ = Matrix<double>(2, points.cols);
  const Matrix<float> centred = without_mean(points, mean_);
  const double all = sum_of_squares(centred);
  const double least = sum_of_squares(points) * kRoundedSquare;
  if (all <= least) return;
  const SymmetricEigen eigen =
      symmetric_eigen(gram_matrix(centred.values.data(), centred.rows, centred.cols));
  for (int64_t k = 0; k < std::min<int64_t>(2, points.cols); ++k) {
    const double varies = eigen.values[static_cast<size_t>(k)];
    if (varies <= std::max(least, all * kRoundedSquare)) break;
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

}  // namespace simile
