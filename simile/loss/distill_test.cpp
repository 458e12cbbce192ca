// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/distill.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

using testing::random_input;
using testing::require_gradients;

LossInput taught_texts(int64_t m, int64_t D, int64_t E) {
  LossInput input = random_input(m, D);
  input.right = torch::Tensor();
  input.left_teachers = {random_input(m, E, 0, 9).left};
  return input;
}

TEST(Distill, IsTheMeanSquareOrOneMinusTheCosine) {
  LossInput input;
  input.left = torch::tensor({{1.0, 0.0}, {0.0, 2.0}}, torch::kFloat64);
  input.left_teachers = {torch::tensor({{3.0, 0.0}, {1.0, 2.0}}, torch::kFloat64)};
  DistillOptions options;
  EXPECT_NEAR(distill_loss(input, options).item<double>(), (4.0 + 1.0) / 4, 1e-12);
  options.distance = "cosine";
  EXPECT_NEAR(distill_loss(input, options).item<double>(), (1 - 2 / std::sqrt(5.0)) / 2, 1e-12);
}

TEST(Distill, OfPairsIsTheMeanOfTheSides) {
  LossInput pairs = random_input(3, 4);
  pairs.left_teachers = {random_input(3, 4, 0, 7).left};
  pairs.right_teachers = {random_input(3, 4, 0, 8).left};
  LossInput left, right;
  left.left = pairs.left;
  left.left_teachers = pairs.left_teachers;
  right.left = pairs.right;
  right.left_teachers = pairs.right_teachers;
  const DistillOptions options;
  const double sum =
      distill_loss(left, options).item<double>() + distill_loss(right, options).item<double>();
  EXPECT_NEAR(distill_loss(pairs, options).item<double>(), sum / 2, 1e-12);
  pairs.right_teachers.clear();  // right texts without a teacher's vectors are left alone
  EXPECT_EQ(distill_loss(pairs, options).item<double>(),
            distill_loss(left, options).item<double>());
}

TEST(Distill, AProjectionLeadsToATeacherOfAnotherSize) {
  const LossInput input = taught_texts(3, 4, 2);
  const torch::Tensor projection = random_input(2, 4, 0, 3).left;
  LossInput projected;
  projected.left = input.left.matmul(projection.t());
  projected.left_teachers = input.left_teachers;
  for (const std::string distance : {"mse", "cosine"}) {
    DistillOptions options;
    options.distance = distance;
    EXPECT_NEAR(distill_loss(input, options, projection).item<double>(),
                distill_loss(projected, options).item<double>(), 1e-12);
  }
}

TEST(Distill, GradientsMatchFiniteDifferencesAndSpareTheTeacher) {
  for (const std::string distance : {"mse", "cosine"}) {
    DistillOptions options;
    options.distance = distance;
    LossInput input = taught_texts(3, 4, 2);
    input.left_teachers[0].requires_grad_(true);
    torch::Tensor projection = random_input(2, 4, 0, 3).left;
    projection.requires_grad_(true);
    auto leaves = require_gradients(input);
    leaves.push_back(projection);
    testing::expect_gradients_match([&] { return distill_loss(input, options, projection); },
                                    leaves);
    EXPECT_FALSE(input.left_teachers[0].grad().defined());
  }
}

TEST(Distill, ScoresAreTheCosinesOfAllTextsWhateverTheSizes) {
  LossInput input;
  input.left = torch::tensor({{1.0, 0.0}, {0.0, 2.0}}, torch::kFloat64);
  input.left_teachers = {torch::tensor({{3.0, 0.0, 0.0}, {1.0, 1.0, 0.0}}, torch::kFloat64)};
  DistillOptions options;
  options.distance = "scores";
  EXPECT_NEAR(distill_loss(input, options).item<double>(), 2 * 0.5 / 4, 1e-12);
  input.right = torch::tensor({{2.0, 0.0}, {0.0, 1.0}}, torch::kFloat64);
  input.right_teachers = input.left_teachers;
  EXPECT_NEAR(distill_loss(input, options).item<double>(), 8 * 0.5 / 16, 1e-12);
  LossInput texts = taught_texts(3, 4, 2);
  texts.left_teachers[0].requires_grad_(true);
  const auto leaves = require_gradients(texts);
  testing::expect_gradients_match([&] { return distill_loss(texts, options); }, leaves);
  EXPECT_FALSE(texts.left_teachers[0].grad().defined());
}

TEST(Distill, ZeroAndEqualVectorsStayFinite) {
  for (const std::string distance : {"mse", "cosine", "scores"}) {
    for (const double fill : {0.0, 1.0}) {
      LossInput input;
      input.left = torch::full({1, 3}, fill);
      input.left_teachers = {torch::full({1, 3}, fill)};
      DistillOptions options;
      options.distance = distance;
      const auto leaves = require_gradients(input);
      testing::expect_finite([&] { return distill_loss(input, options); }, leaves);
    }
  }
}

TEST(Distill, MissingTeachersAndOtherSizesAreErrors) {
  const DistillOptions options;
  LossInput input = taught_texts(3, 4, 2);
  EXPECT_THROW(distill_loss(input, options), Error);
  EXPECT_THROW(distill_loss(input, options, torch::zeros({4, 2}, torch::kFloat64)), Error);
  input.left_teachers.clear();
  EXPECT_THROW(distill_loss(input, options), Error);
  input = taught_texts(3, 4, 4);
  input.right_teachers = input.left_teachers;
  EXPECT_THROW(distill_loss(input, options), Error);
  input = taught_texts(3, 4, 4);
  input.left_teachers[0] = torch::zeros({2, 4}, torch::kFloat64);
  EXPECT_THROW(distill_loss(input, options), Error);
}

}  // namespace
}  // namespace simile
