// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/teacher_losses.h"

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
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

using testing::random_input;
using testing::require_gradients;

double entropy_value(const LossInput& input, const RclEntropyOptions& options) {
  return rcl_entropy_loss(input, options).item<double>();
}

TEST(RclEntropy, OfEqualScoresHasTheKnownValue) {
  LossInput input;
  input.left = torch::ones({4, 2}, torch::kFloat64);
  input.right = torch::ones({4, 2}, torch::kFloat64);
  RclEntropyOptions options;
  options.phi = 0.5;  // every p is 1/4: CE = log 4, H = 3/4 log 4
  EXPECT_NEAR(entropy_value(input, options), std::log(4.0) * (1 + 0.5 * 0.75), 1e-12);
}

TEST(RclEntropy, WithoutTheEntropyIsTheContrastiveLoss) {
  const LossInput input = testing::random_input(4, 3, 1);
  RclEntropyOptions options;
  options.phi = 0.0;
  options.scale = 5.0;
  BscOptions bsc;
  bsc.directions = "left";
  bsc.temperature.value = 0.2;
  EXPECT_NEAR(entropy_value(input, options), bsc_loss(input, bsc).item<double>(), 1e-12);
}

TEST(RclEntropy, IsLinearInPhiWhichMayBeNegative) {
  const LossInput input = testing::random_input(4, 3, 1);
  RclEntropyOptions below, none, above;
  below.phi = -0.4;
  none.phi = 0.0;
  above.phi = 0.4;
  EXPECT_LT(entropy_value(input, below), entropy_value(input, none));
  EXPECT_NEAR(entropy_value(input, below) + entropy_value(input, above),
              2 * entropy_value(input, none), 1e-12);
}

TEST(RclEntropy, RowsWithLowTargetsOnlyServeAsColumns) {
  LossInput input = testing::random_input(2, 3);
  input.target = torch::tensor({1.0, 0.0}, torch::kFloat64);
  LossInput as_column = input;
  for (torch::Tensor* side : {&as_column.left, &as_column.right, &as_column.target}) {
    *side = side->narrow(0, 0, 1);
  }
  as_column.negatives = {input.right.narrow(0, 1, 1)};
  const RclEntropyOptions options;
  EXPECT_NEAR(2 * entropy_value(input, options), entropy_value(as_column, options), 1e-12);
}

TEST(RclEntropy, GradientsMatchFiniteDifferences) {
  for (const double phi : {0.3, -0.3}) {
    LossInput input = testing::random_input(4, 3, 1);
    input.target = torch::tensor({1.0, 0.0, 1.0, 1.0}, torch::kFloat64);
    RclEntropyOptions options;
    options.phi = phi;
    options.scale = 3.0;
    testing::expect_gradients_match([&] { return rcl_entropy_loss(input, options); },
                                    require_gradients(input));
  }
}

TEST(RclEntropy, ExtremeBatchesStayFinite) {
  for (const double fill : {0.0, 1.0}) {
    for (const int64_t m : {1, 3}) {
      for (const double scale : {1.0, 1000.0}) {
        LossInput input;
        input.left = torch::full({m, 3}, fill);
        input.right = torch::eye(m, 3) - fill;
        RclEntropyOptions options;
        options.scale = scale;
        const auto leaves = require_gradients(input);
        testing::expect_finite([&] { return rcl_entropy_loss(input, options); }, leaves);
      }
    }
  }
}

TEST(RclEntropy, WithoutPositivesTheLossIsZeroWithZeroGradients) {
  LossInput input = testing::random_input(3, 2);
  input.target = torch::zeros({3});
  const auto leaves = require_gradients(input);
  testing::expect_constant([&] { return rcl_entropy_loss(input, RclEntropyOptions()); }, 0.0,
                           leaves);
}

LossInput taught_input(int64_t m, int64_t D, size_t teachers, int64_t negatives = 0) {
  LossInput input = random_input(m, D, negatives);
  for (size_t n = 0; n < teachers; ++n) {
    const LossInput vectors = random_input(m, D, 0, 10 + n);
    input.left_teachers.push_back(vectors.left);
    input.right_teachers.push_back(vectors.right);
  }
  return input;
}

double rcl_value(const LossInput& input) { return rcl_loss(input, RclOptions()).item<double>(); }

double contrastive_value(const torch::Tensor& left, const torch::Tensor& right) {
  LossInput input;
  input.left = left;
  input.right = right;
  RclEntropyOptions options;
  options.phi = 0.0;
  return rcl_entropy_loss(input, options).item<double>();
}

TEST(Rcl, AddsAContrastiveTermForEverySideOfEveryTeacher) {
  const LossInput input = taught_input(4, 3, 2);
  double expected = contrastive_value(input.left, input.right);
  for (size_t n = 0; n < 2; ++n) {
    expected += contrastive_value(input.left, input.left_teachers[n]);
    expected += contrastive_value(input.right, input.right_teachers[n]);
  }
  EXPECT_NEAR(rcl_value(input), expected, 1e-12);
}

TEST(Rcl, LowTargetsKeepTheRegularisersAlone) {
  LossInput input = taught_input(4, 3, 1);
  input.target = torch::zeros({4}, torch::kFloat64);
  EXPECT_NEAR(rcl_value(input),
              contrastive_value(input.left, input.left_teachers[0]) +
                  contrastive_value(input.right, input.right_teachers[0]),
              1e-12);
}

TEST(Rcl, OrderOfTheRowsDoesNotMatter) {
  LossInput input = taught_input(4, 3, 1, 1);
  const double value = rcl_value(input);
  for (torch::Tensor* tensor : {&input.left, &input.right, &input.negatives[0],
                                &input.left_teachers[0], &input.right_teachers[0]}) {
    *tensor = tensor->flip({0});
  }
  EXPECT_NEAR(rcl_value(input), value, 1e-12);
}

TEST(Rcl, GradientsMatchFiniteDifferencesAndSpareTheTeachers) {
  LossInput input = taught_input(4, 3, 2, 1);
  input.target = torch::tensor({1.0, 0.0, 1.0, 1.0}, torch::kFloat64);
  RclOptions options;
  options.scale = 3.0;
  input.left_teachers[0].requires_grad_(true);
  testing::expect_gradients_match([&] { return rcl_loss(input, options); },
                                  require_gradients(input));
  EXPECT_FALSE(input.left_teachers[0].grad().defined());
}

TEST(Rcl, ExtremeBatchesStayFinite) {
  for (const double fill : {0.0, 1.0}) {
    for (const int64_t m : {1, 3}) {
      LossInput input;
      input.left = torch::full({m, 3}, fill);
      input.right = torch::full({m, 3}, fill);
      input.left_teachers = {torch::full({m, 3}, fill)};
      input.right_teachers = {torch::zeros({m, 3})};
      const auto leaves = require_gradients(input);
      testing::expect_finite([&] { return rcl_loss(input, RclOptions()); }, leaves);
    }
  }
}

TEST(Rcl, MissingTeachersOrThoseOfAnotherSizeAreErrors) {
  const LossInput good = taught_input(3, 4, 1);
  std::vector<LossInput> bad(4, good);
  bad[0].left_teachers.clear();
  bad[1].right_teachers.clear();
  bad[2].left_teachers[0] = torch::zeros({3, 5}, torch::kFloat64);
  bad[3].right_teachers[0] = torch::zeros({2, 4}, torch::kFloat64);
  for (const LossInput& input : bad) EXPECT_THROW(rcl_loss(input, RclOptions()), Error);
}

}  // namespace

}  // namespace simile
