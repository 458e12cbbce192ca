// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/principal_plane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simile/core/random.h"

namespace simile {
namespace {

constexpr int64_t kWide = 32;

// Two directions that stand upright on each other.
Matrix<double> two_directions() {
  RandomStream stream(5, "plane");
  Matrix<double> axes(2, kWide);
  for (double& value : axes.values) value = stream.normal();
  const auto dot = [&](int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t j = 0; j < kWide; ++j) sum += axes.at(a, j) * axes.at(b, j);
    return sum;
  };
  const double shared = dot(0, 1) / dot(0, 0);
  for (int64_t j = 0; j < kWide; ++j) axes.at(1, j) -= shared * axes.at(0, j);
  for (int64_t a = 0; a < 2; ++a) {
    const double length = std::sqrt(dot(a, a));
    for (int64_t j = 0; j < kWide; ++j) axes.at(a, j) /= length;
  }
  return axes;
}

TEST(PrincipalPlane, FindsPointsOfAPlaneAgain) {
  const Matrix<double> axes = two_directions();
  Matrix<double> flat(500, 2);
  for (int64_t i = 0; i < flat.rows;
       i += 2) {  // in pairs: their mean is 0, x and y go their own way
    const double x = 3 * std::cos(static_cast<double>(i)), y = std::sin(static_cast<double>(i));
    flat.at(i, 0) = x, flat.at(i, 1) = y;
    flat.at(i + 1, 0) = -x, flat.at(i + 1, 1) = -y;
  }
  Matrix<float> points(flat.rows, kWide);
  double furthest = 0;
  for (int64_t i = 0; i < flat.rows; ++i) {
    furthest = std::max(furthest, std::hypot(flat.at(i, 0), flat.at(i, 1)));
    for (int64_t j = 0; j < kWide; ++j) {
      points.at(i, j) =
          static_cast<float>(7 + flat.at(i, 0) * axes.at(0, j) + flat.at(i, 1) * axes.at(1, j));
    }
  }
  const PrincipalPlane plane(points);
  EXPECT_NEAR(plane.shares()[0] + plane.shares()[1], 1, 1e-6);
  EXPECT_NEAR(plane.shares()[0], 0.9, 0.02);
  const PlanePoint first = plane.place(points.row(0)), other = plane.place(points.row(2));
  const double sign_x = first.x * flat.at(0, 0) < 0 ? -1 : 1;
  const double sign_y = other.y * flat.at(2, 1) < 0 ? -1 : 1;
  double reached = 0;
  for (int64_t i = 0; i < flat.rows; ++i) {
    const PlanePoint at = plane.place(points.row(i));
    EXPECT_NEAR(at.x * sign_x * furthest, flat.at(i, 0), 0.02) << i;
    EXPECT_NEAR(at.y * sign_y * furthest, flat.at(i, 1), 0.02) << i;
    reached = std::max(reached, std::hypot(at.x, at.y));
  }
  EXPECT_NEAR(reached, 1, 1e-12);
}

TEST(PrincipalPlane, TheLargestNumberOfAnAxisIsPositive) {
  for (const float sign : {1.0f, -1.0f}) {
    Matrix<float> points(3, 2);
    points.values = {0, 0, sign * 2, sign, sign * 4, sign * 2};
    const PrincipalPlane plane(points);
    const float along[] = {sign * 2 + 2, sign + 1};  // from the mean towards (2, 1)
    EXPECT_NEAR(plane.place(along).x, 1, 1e-6);
    EXPECT_EQ(plane.place(along).y, 0);
    EXPECT_NEAR(plane.shares()[0], 1, 1e-9);
    EXPECT_EQ(plane.shares()[1], 0);
  }
}

TEST(PrincipalPlane, TwoPointsLieOnALine) {
  Matrix<float> points(2, kWide, 0.5f);
  points.at(1, 3) = 2;
  const PrincipalPlane plane(points);
  EXPECT_NEAR(plane.place(points.row(0)).x, -1, 1e-6);
  EXPECT_NEAR(plane.place(points.row(1)).x, 1, 1e-6);
  EXPECT_EQ(plane.place(points.row(0)).y, 0);
  EXPECT_NEAR(plane.shares()[0], 1, 1e-9);
}

TEST(PrincipalPlane, WhereNothingVariesAllPointsAreAtZero) {
  for (const int64_t count : {1, 2, 700}) {
    Matrix<float> points(count, kWide, 0.1f);
    for (int64_t i = 0; i < count; ++i) points.at(i, 1) = -0.3f;
    const PrincipalPlane plane(points);
    EXPECT_EQ(plane.shares()[0], 0);
    EXPECT_EQ(plane.shares()[1], 0);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(plane.place(points.row(i)).x, 0);
      EXPECT_EQ(plane.place(points.row(i)).y, 0);
    }
  }
}

TEST(PrincipalPlane, PointsOfOneNumberAndNoPoints) {
  Matrix<float> line(3, 1);
  line.values = {1, 2, 6};
  const PrincipalPlane plane(line);
  EXPECT_NEAR(plane.place(line.row(2)).x, 1, 1e-6);
  EXPECT_EQ(plane.place(line.row(2)).y, 0);
  const PrincipalPlane none(Matrix<float>(0, kWide));
  EXPECT_EQ(none.place(line.row(0)).x, 0);
}

}  // namespace
}  // namespace simile
