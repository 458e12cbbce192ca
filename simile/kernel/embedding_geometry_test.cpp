// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/embedding_geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "simile/core/random.h"

namespace simile {
namespace {

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
