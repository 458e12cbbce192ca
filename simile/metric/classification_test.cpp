// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

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
