// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/head_output.h"

#include <gmock/gmock.h>

#include <cmath>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HeadOutput output_of(const std::string& kind, std::vector<std::string> classes, int64_t columns,
                     std::vector<float> logits) {
  HeadOutput output{kind, std::move(classes), Matrix<float>(0, columns)};
  output.logits.rows = static_cast<int64_t>(logits.size()) / columns;
  output.logits.values = std::move(logits);
  return output;
}

TEST(HeadOutput, ClassesAreMadeProbableBySoftmax) {
  const HeadOutput output =
      output_of("classes", {"a", "b", "c"}, 3, {0, std::log(2.f), 0, 1000, 0, 1000});
  const Matrix<double> p = class_probabilities(output, 2);
  EXPECT_NEAR(p.at(0, 0), 0.25, 1e-7);
  EXPECT_NEAR(p.at(0, 1), 0.5, 1e-7);
  EXPECT_DOUBLE_EQ(p.at(1, 0), 0.5);
  EXPECT_DOUBLE_EQ(p.at(1, 1), 0);
}

TEST(HeadOutput, AProbabilityIsThatOfTheSecondClass) {
  const float z = std::log(3.f);
  const HeadOutput output = output_of("probability", {}, 1, {z, -z, 0, -800});
  EXPECT_THAT(head_classes(output), ElementsAre("0", "1"));
  const Matrix<double> p = class_probabilities(output, 4);
  const std::vector<double> scores = head_scores(output, 4);
  const double expected[] = {0.75, 0.25, 0.5, 0};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(p.at(i, 1), expected[i], 1e-7);
    EXPECT_NEAR(p.at(i, 0), 1 - expected[i], 1e-7);
    EXPECT_EQ(scores[static_cast<size_t>(i)], p.at(i, 1));
  }
  EXPECT_THAT(head_classes(output_of("probability", {"no", "yes"}, 1, {})),
              ElementsAre("no", "yes"));
}

TEST(HeadOutput, PairsAreScoredByOneNumberOrByTwoClasses) {
  EXPECT_THAT(head_scores(output_of("score", {}, 1, {-2.5, 4}), 2), ElementsAre(-2.5, 4));
  const HeadOutput two = output_of("classes", {"no", "yes"}, 2, {0, std::log(4.f)});
  EXPECT_NEAR(head_scores(two, 1)[0], 0.8, 1e-7);
}

TEST(HeadOutput, WhatAHeadDoesNotGiveIsAnError) {
  const HeadOutput score = output_of("score", {}, 1, {1});
  const HeadOutput three = output_of("classes", {"a", "b", "c"}, 3, {1, 2, 3});
  EXPECT_THAT(error_of([&] { head_classes(score); }), HasSubstr("found one that gives score"));
  EXPECT_THAT(error_of([&] { head_scores(three, 1); }),
              HasSubstr("one with 3 classes; evaluate it with the task classification"));
  EXPECT_THAT(error_of([&] { class_probabilities(three, 2); }),
              HasSubstr("expected logits of 2 x 3 of a head that gives classes, found 1 x 3"));
  EXPECT_THAT(error_of([&] {
                head_scores(output_of("score", {}, 1, {1, NAN}), 2);
              }),
              HasSubstr("example 1 (numbered from 0) are not finite"));
}

}  // namespace
}  // namespace simile
