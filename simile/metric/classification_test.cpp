// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace simile
