// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/agreement.h"

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

using ::testing::ElementsAre;

TEST(Classification, LiteralCase) {
  const auto scores = score_classes({0, 0, 1, 1, 1}, {0, 1, 1, 1, 0}, 2);
  EXPECT_DOUBLE_EQ(scores.accuracy, 0.6);
  EXPECT_THAT(scores.confusion.values, ElementsAre(1, 1, 1, 2));
  EXPECT_DOUBLE_EQ(scores.class_f1[0], 0.5);
  EXPECT_DOUBLE_EQ(scores.class_f1[1], 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores.macro_f1, (0.5 + 2.0 / 3) / 2);
}

TEST(Classification, ClassesThatDoNotOccurAreNotAveraged) {
  const auto scores = score_classes({0, 2}, {0, 2}, 5);
  EXPECT_DOUBLE_EQ(scores.macro_f1, 1);
  EXPECT_EQ(scores.class_f1[1], 0);
}

TEST(Classification, RefusesClassesOutsideTheRange) {
  EXPECT_THROW(score_classes({0, 2}, {0, 1}, 2), Error);
  EXPECT_THROW(score_classes({0, 1}, {0, -1}, 2), Error);
  EXPECT_THROW(score_classes({0}, {0, 1}, 2), Error);
  EXPECT_THROW(score_classes({}, {}, 2), Error);
}

TEST(Threshold, LiesMidwayBetweenTheScoresItParts) {
  const std::vector<double> scores = {0.9, 0.1, 0.6, 0.2};
  const std::vector<int> labels = {1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(find_accuracy_threshold(scores, labels).threshold, 0.4);
  EXPECT_DOUBLE_EQ(find_accuracy_threshold(scores, labels).value, 1);
  EXPECT_DOUBLE_EQ(find_f1_threshold(scores, labels).threshold, 0.4);
  EXPECT_DOUBLE_EQ(average_precision(scores, labels), 1);
}

TEST(Threshold, EverythingOrNothingMayBeTheBestAnswer) {
  // The negatives score higher: calling all negative is right for 3 of 4, calling all positive best
  // for F1.
  const std::vector<double> scores = {4, 3, 2, 1};
  const std::vector<int> labels = {0, 0, 0, 1};
  const BestThreshold accuracy = find_accuracy_threshold(scores, labels);
  EXPECT_DOUBLE_EQ(accuracy.value, 0.75);
  EXPECT_GT(accuracy.threshold, 4);
  const BestThreshold f1 = find_f1_threshold(scores, labels);
  EXPECT_DOUBLE_EQ(f1.value, 0.4);
  EXPECT_EQ(f1.threshold, 1);
}

TEST(Threshold, ReachesOnItsOwnDataTheValueItPromises) {
  const std::vector<double> scores = {0.5, 0.5, 0.25, std::nextafter(0.5, 1.0), -1, 3, 0.25, 0};
  const std::vector<int> labels = {1, 0, 0, 1, 1, 1, 0, 0};
  const BestThreshold accuracy = find_accuracy_threshold(scores, labels);
  EXPECT_EQ(apply_threshold(scores, labels, accuracy.threshold).accuracy(), accuracy.value);
  const BestThreshold f1 = find_f1_threshold(scores, labels);
  EXPECT_EQ(apply_threshold(scores, labels, f1.threshold).f1(), f1.value);
}

TEST(Threshold, CountsAndTheirMeasures) {
  const BinaryCounts counts = apply_threshold({3, 3, 2, 1, 1, 0}, {1, 0, 1, 1, 0, 0}, 2);
  EXPECT_EQ(counts.true_positives, 2);
  EXPECT_EQ(counts.false_positives, 1);
  EXPECT_EQ(counts.false_negatives, 1);
  EXPECT_EQ(counts.true_negatives, 2);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(counts.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(counts.recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(counts.f1(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(counts.mcc(), 3.0 / 9);
}

TEST(Threshold, FractionsOfNothingAreZero) {
  const BinaryCounts counts = apply_threshold({1, 2}, {0, 0}, 5);
  EXPECT_EQ(counts.f1(), 0);
  EXPECT_EQ(counts.precision(), 0);
  EXPECT_EQ(counts.mcc(), 0);
  EXPECT_EQ(average_precision({1, 2}, {0, 0}), 0);
}

TEST(Threshold, AveragePrecisionDoesNotDependOnTheOrderOfEqualScores) {
  EXPECT_DOUBLE_EQ(average_precision({1, 1, 0}, {1, 0, 1}),
                   average_precision({1, 1, 0}, {0, 1, 1}));
  EXPECT_DOUBLE_EQ(average_precision({1, 1, 0}, {1, 0, 1}), 0.5 * 0.5 + 0.5 * 2 / 3);
}

TEST(Threshold, RefusesListsThatDoNotFit) {
  EXPECT_THROW(find_f1_threshold({}, {}), Error);
  EXPECT_THROW(find_accuracy_threshold({1}, {1, 0}), Error);
  EXPECT_THROW(average_precision({std::nan("")}, {1}), Error);
}

}  // namespace
}  // namespace simile
