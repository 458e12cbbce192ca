// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"

namespace simile {

namespace {

std::vector<float> normals(int64_t count) {
  RandomStream stream(8, "gram");
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

TEST(Gram, AgreesWithDoublePrecision) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 7}, {256, 5}, {257, 33}, {9000, 12}}) {
    const std::vector<float> x = normals(rows * columns);
    const Matrix<double> gram = gram_matrix(x.data(), rows, columns);
    for (int64_t a = 0; a < columns; ++a) {
      for (int64_t b = 0; b < columns; ++b) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) sum += double{x[i * columns + a]} * x[i * columns + b];
        ASSERT_NEAR(gram.at(a, b), sum, 1e-6 * static_cast<double>(10 + rows));
      }
    }
  }
}

TEST(Gram, TheSameBitsWithAnyNumberOfThreads) {
  const std::vector<float> x = normals(5000 * 40);
  set_thread_count(1);
  const std::vector<double> one = gram_matrix(x.data(), 5000, 40).values;
  set_thread_count(3);
  EXPECT_EQ(gram_matrix(x.data(), 5000, 40).values, one);
  set_thread_count(2);
}

TEST(Gram, NoRowsGiveZeros) {
  EXPECT_EQ(gram_matrix(nullptr, 0, 2).values, std::vector<double>(4, 0.0));
}

using testing::DoubleNear;
using testing::ElementsAre;

constexpr int64_t kSize = 60;

// X^T X of some random X.
Matrix<double> random_matrix() {
  RandomStream stream(8, "symmetric");
  Matrix<double> x(2 * kSize, kSize), a(kSize, kSize);
  for (double& value : x.values) value = stream.normal();
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      for (int64_t k = 0; k < x.rows; ++k) a.at(i, j) += x.at(k, i) * x.at(k, j);
    }
  }
  return a;
}

TEST(Symmetric, EigenvaluesOfAKnownMatrix) {
  Matrix<double> a(2, 2);
  a.values = {1, -2, -2, 1};  // 3 along (1, -1), -1 along (1, 1)
  const SymmetricEigen eigen = symmetric_eigen(a);
  EXPECT_THAT(eigen.values, ElementsAre(DoubleNear(3, 1e-12), DoubleNear(-1, 1e-12)));
  EXPECT_NEAR(eigen.vectors.at(0, 0) * eigen.vectors.at(0, 1), -0.5, 1e-12);
  EXPECT_NEAR(eigen.vectors.at(1, 0), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(eigen.vectors.at(1, 1), std::sqrt(0.5), 1e-12);
}

TEST(Symmetric, EigenvectorsMakeTheMatrixAgain) {
  const Matrix<double> a = random_matrix();
  const SymmetricEigen eigen = symmetric_eigen(a);
  for (int64_t k = 1; k < kSize; ++k) {
    EXPECT_GE(eigen.values[static_cast<size_t>(k - 1)], eigen.values[static_cast<size_t>(k)]);
  }
  for (int64_t i = 0; i < kSize; ++i) {
    double largest = 0;
    for (int64_t j = 0; j < kSize; ++j) {
      double made = 0, product = 0;
      for (int64_t k = 0; k < kSize; ++k) {
        made +=
            eigen.values[static_cast<size_t>(k)] * eigen.vectors.at(k, i) * eigen.vectors.at(k, j);
        product += eigen.vectors.at(i, k) * eigen.vectors.at(j, k);
      }
      EXPECT_NEAR(made, a.at(i, j), 1e-9);
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-11);
      const double value = eigen.vectors.at(i, j);
      if (std::abs(value) > std::abs(largest)) largest = value;
    }
    EXPECT_GT(largest, 0);
  }
}

TEST(Symmetric, TheFactorMakesInnerProductsOrthonormal) {
  const Matrix<double> a = random_matrix();
  const Matrix<double> u = whitening_factor(a);
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kSize; ++k) {
        for (int64_t l = 0; l < kSize; ++l) sum += u.at(k, i) * a.at(k, l) * u.at(l, j);
      }
      EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-10);
      if (i > j) {
        EXPECT_EQ(u.at(i, j), 0);
      }
    }
  }
}

TEST(Symmetric, WhatIsNotPositiveDefiniteIsRefused) {
  Matrix<double> a(2, 2);
  a.values = {1, 2, 2, 1};
  EXPECT_THROW(whitening_factor(a), Error);
  a.values = {NAN, 0, 0, 1};
  EXPECT_THROW(symmetric_eigen(a), Error);
}

constexpr int64_t kWide = 32;

// Two orthogonal directions.
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

Matrix<float> rows_of(std::vector<float> values, int64_t columns = 2) {
  Matrix<float> rows(static_cast<int64_t>(values.size()) / columns, columns);
  rows.values = std::move(values);
  return rows;
}

TEST(EmbeddingGeometry, AlignmentIsTheMeanSquaredDistanceOfPairs) {
  // Equal directions, a right angle, opposite: 0, 2 and 4.
  EXPECT_NEAR(alignment_of(rows_of({1, 0, 0, 2, 3, 0}), rows_of({5, 0, 7, 0, -1, 0})), 2, 1e-12);
  EXPECT_EQ(alignment_of(rows_of({}), rows_of({})), 0);
}

TEST(EmbeddingGeometry, UniformityIsTheLogOfTheMeanGaussianPotential) {
  EXPECT_NEAR(uniformity_of(rows_of({1, 0, 2, 0})), 0, 1e-12);
  EXPECT_NEAR(uniformity_of(rows_of({1, 0, -1, 0})), -8, 1e-12);
  const double mean = (2 * std::exp(-2.0 * 2) + std::exp(-2.0 * 4)) / 3;
  EXPECT_NEAR(uniformity_of(rows_of({1, 0, 0, 1, -1, 0})), std::log(mean), 1e-12);
  EXPECT_EQ(uniformity_of(rows_of({1, 0})), 0);
}

TEST(EmbeddingGeometry, TheMeanCosineIsThatOfAllPairs) {
  EXPECT_NEAR(mean_cosine(rows_of({1, 0, 0, 3, -2, 0})), -1.0 / 3, 1e-12);
  EXPECT_NEAR(mean_cosine(rows_of({1, 1, 2, 2})), 1, 1e-12);
  EXPECT_NEAR(mean_cosine(rows_of({1, 0, 1, 0, 0, 0})), 1.0 / 3, 1e-12);
  EXPECT_EQ(mean_cosine(rows_of({1, 0})), 0);
}

TEST(EmbeddingGeometry, PrincipalSharesAreThoseOfTheVariance) {
  // Variance 4 along the first axis, 1 along the second, none along the third; the mean is not 0.
  const std::vector<double> shares =
      principal_shares(rows_of({7, 5, 1, 3, 5, 1, 5, 6, 1, 5, 4, 1}, 3));
  EXPECT_NEAR(shares[0], 0.8, 1e-6);
  EXPECT_NEAR(shares[1], 0.2, 1e-6);
  EXPECT_NEAR(shares[2], 0, 1e-6);
  EXPECT_EQ(principal_shares(rows_of({1, 2, 1, 2})), (std::vector<double>{0, 0}));
}

TEST(EmbeddingGeometry, RandomDirectionsAreUniformAndSpread) {
  RandomStream random(5, "directions");
  Matrix<float> vectors(400, 64);
  for (float& value : vectors.values) value = static_cast<float>(random.uniform() - 0.5);
  EXPECT_NEAR(mean_cosine(vectors), 0, 0.01);
  EXPECT_NEAR(uniformity_of(vectors), -4, 0.2);  // cosines near 0: exp(-4)
  const std::vector<double> shares = principal_shares(vectors);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-6);
  EXPECT_LT(shares[0], 0.06);
}

}  // namespace

}  // namespace simile
