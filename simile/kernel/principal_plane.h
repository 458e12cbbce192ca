// SPDX-License-Identifier: Apache-2.0
// The plane in which points vary most (principal components), for pictures of many dimensions: how
// much of all that varies it shows is told too, and is often little.
#pragma once

#include <array>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct PlanePoint {
  double x = 0, y = 0;
};

class PrincipalPlane {
 public:
  PrincipalPlane() = default;
  // points [n, D], finite. The same bits with any number of threads. An axis along which nothing
  // varies, but for rounding, is left out: then all points have 0 there.
  explicit PrincipalPlane(const Matrix<float>& points);

  // Of a point [D]: the furthest of those the plane was made of lies at distance 1 from their mean,
  // which is at 0. The largest number of each axis is positive.
  PlanePoint place(const float* point) const;

  // The share of the variance along each axis, 0 to 1; 0 where nothing varies.
  const std::array<double, 2>& shares() const { return shares_; }

 private:
  std::vector<float> mean_;
  Matrix<double> axes_;  // [2, D]
  std::array<double, 2> shares_ = {0, 0};
  double scale_ = 1;
};

}  // namespace simile
