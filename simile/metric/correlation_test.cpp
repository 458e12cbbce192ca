// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/correlation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

using Values = std::vector<double>;

TEST(Correlation, LiteralCases) {
  const struct {
    Values left, right;
    double pearson, spearman;
  } cases[] = {
      {{1, 2, 3}, {2, 4, 6}, 1, 1},
      {{1, 2, 3}, {3, 2, 1}, -1, -1},
      {{1, 2, 3}, {1, 4, 9}, 0.98974331861078702, 1},
      {{1, 2, 3, 4}, {1, 3, 2, 4}, 0.8, 0.8},
      {{1, 2, 2, 3}, {1, 2, 3, 4}, 0.94868329805051377, 0.94868329805051377},
  };
  for (const auto& c : cases) {
    EXPECT_NEAR(pearson(c.left, c.right), c.pearson, 1e-15);
    EXPECT_NEAR(spearman(c.left, c.right), c.spearman, 1e-15);
  }
}

TEST(Correlation, EqualValuesShareTheMeanOfTheirRanks) {
  EXPECT_THAT(average_ranks({10, 20, 20, 30}), ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(average_ranks({5, 5, 5}), ElementsAre(2, 2, 2));
  EXPECT_TRUE(average_ranks({}).empty());
}

TEST(Correlation, IsZeroWhereItIsNotDefined) {
  const std::pair<Values, Values> cases[] = {
      {{}, {}}, {{1}, {2}}, {{0.1, 0.1, 0.1}, {1, 2, 3}}, {{1, 2, 3}, {7, 7, 7}}, {{0, 0}, {0, 0}}};
  for (const auto& c : cases) {
    EXPECT_EQ(pearson(c.first, c.second), 0);
    EXPECT_EQ(spearman(c.first, c.second), 0);
  }
}

TEST(Correlation, DoesNotChangeUnderScaleAndShift) {
  const Values left = {0.3, -1, 2.5, 0.7, 4}, right = {1, 0, 2, 2, 3};
  const double expected = pearson(left, right);
  for (const double scale : {1e-300, 1e-3, 1e3, 1e300}) {
    Values scaled = left;
    for (double& value : scaled) value *= scale;
    EXPECT_NEAR(pearson(scaled, right), expected, 1e-14) << scale;
    EXPECT_EQ(spearman(scaled, right), spearman(left, right)) << scale;
  }
  EXPECT_EQ(pearson(left, right), pearson(right, left));
}

TEST(Correlation, RefusesListsThatDoNotFit) {
  EXPECT_THROW(pearson({1, 2}, {1}), Error);
  EXPECT_THROW(spearman({1, 2}, {1}), Error);
  EXPECT_THROW(pearson({1, std::nan("")}, {1, 2}), Error);
  EXPECT_THROW(spearman({1, std::numeric_limits<double>::infinity()}, {1, 2}), Error);
}

// p of lists without equal numbers is that of tables of Kendall's tau (Kendall 1938, twice the
// probability of one side).
TEST(OrderAgreement, LiteralCases) {
  const struct {
    Values left, right;
    int64_t same, reversed;
    double p;
  } cases[] = {
      {{1, 2, 3, 4}, {10, 20, 30, 40}, 6, 0, 2.0 / 24},
      {{1, 2, 3, 4}, {4, 3, 2, 1}, 0, 6, 2.0 / 24},
      {{1, 2, 3, 4}, {2, 1, 3, 4}, 5, 1, 8.0 / 24},
      {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, 10, 0, 2.0 / 120},
      {{1, 2, 3, 4, 5}, {1, 2, 3, 5, 4}, 9, 1, 10.0 / 120},
      {{1, 1, 2}, {1, 2, 3}, 2, 0, 4.0 / 6},
      {{1, 1, 1}, {1, 2, 3}, 0, 0, 1},
      {{}, {}, 0, 0, 1},
  };
  for (const auto& c : cases) {
    const OrderAgreement agreement = compare_orders(c.left, c.right);
    EXPECT_EQ(agreement.same, c.same);
    EXPECT_EQ(agreement.reversed, c.reversed);
    const auto pairs = static_cast<double>(c.same + c.reversed);
    EXPECT_DOUBLE_EQ(agreement.tau,
                     pairs == 0 ? 0 : static_cast<double>(c.same - c.reversed) / pairs);
    EXPECT_DOUBLE_EQ(agreement.p, c.p);
  }
}

TEST(OrderAgreement, ManyRowsAreDrawn) {
  Values rising(12), wave(12);
  for (size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<double>(i);
    wave[i] = static_cast<double>(i % 2 == 0 ? i : 12 - i);
  }
  EXPECT_NEAR(compare_orders(rising, rising).p, 0, 1e-4);
  const OrderAgreement mixed = compare_orders(rising, wave);
  EXPECT_GT(mixed.p, 0.05);
  EXPECT_EQ(mixed.p, compare_orders(rising, wave).p);
}

TEST(OrderAgreement, WhatIsNoNumberIsRefused) {
  EXPECT_THROW(compare_orders({1}, {1, 2}), Error);
  EXPECT_THROW(compare_orders({1, NAN}, {1, 2}), Error);
}

}  // namespace
}  // namespace simile
