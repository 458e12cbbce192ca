// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/symmetric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
