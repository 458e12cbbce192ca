// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/graded.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

using testing::expect_constant;
using testing::random_input;
using testing::require_gradients;

TEST(Mse, IsTheMeanSquareOfCosineMinusTarget) {
  LossInput input;
  input.left = torch::tensor({{1.0, 0.0}, {2.0, 0.0}}, torch::kFloat64);
  input.right = torch::tensor({{0.0, 3.0}, {1.0, 0.0}}, torch::kFloat64);
  input.target = torch::tensor({0.5, 0.0}, torch::kFloat64);
  EXPECT_NEAR(mse_loss(input).item<double>(), (0.25 + 1.0) / 2, 1e-12);
}

TEST(Mse, GradientsMatchFiniteDifferences) {
  LossInput input = testing::random_input(4, 3);
  input.target = torch::tensor({0.0, 0.3, 0.8, 1.0}, torch::kFloat64);
  testing::expect_gradients_match([&] { return mse_loss(input); },
                                  testing::require_gradients(input));
}

TEST(Mse, LengthsOfTheEmbeddingsDoNotMatter) {
  LossInput input = testing::random_input(4, 3);
  const double value = mse_loss(input).item<double>();
  input.left = input.left * 10;
  EXPECT_NEAR(mse_loss(input).item<double>(), value, 1e-12);
}

TEST(Mse, ZeroAndIdenticalEmbeddingsStayFinite) {
  for (const double fill : {0.0, 1.0}) {
    LossInput input;
    input.left = torch::full({1, 3}, fill);
    input.right = torch::full({1, 3}, fill);
    testing::expect_finite([&] { return mse_loss(input); }, testing::require_gradients(input));
  }
}

LossInput scored_input(const std::vector<double>& scores, const std::vector<double>& targets) {
  const int64_t m = static_cast<int64_t>(scores.size());
  LossInput input = random_input(m, 3);
  input.logits = torch::tensor(scores, torch::kFloat64).unsqueeze(1);
  input.target = torch::tensor(targets, torch::kFloat64);
  return input;
}

TEST(Pearson, IsOneMinusTheCorrelation) {
  const auto value = [](const std::vector<double>& scores, const std::vector<double>& targets) {
    return pearson_loss(scored_input(scores, targets)).item<double>();
  };
  EXPECT_NEAR(value({1, 2, 3}, {10, 20, 30}), 0.0, 1e-12);
  EXPECT_NEAR(value({1, 2, 3}, {0.5, 0.25, 0}), 2.0, 1e-12);
  EXPECT_NEAR(value({1, 2, 3}, {1, 0, 1}), 1.0, 1e-12);
  EXPECT_NEAR(value({1, 2, 3, 4}, {1, 3, 2, 4}), 0.2, 1e-12);
}

TEST(Pearson, ScaleAndOriginOfTheTargetsDoNotMatter) {
  LossInput input = random_input(5, 3);
  input.target = torch::tensor({0.1, 0.9, 0.4, 0.4, 0.7}, torch::kFloat64);
  const double value = pearson_loss(input).item<double>();
  input.target = input.target * 5 + 100;
  EXPECT_NEAR(pearson_loss(input).item<double>(), value, 1e-12);
}

TEST(Pearson, GradientsMatchFiniteDifferences) {
  LossInput input = random_input(5, 3);
  input.target = torch::tensor({0.1, 0.9, 0.4, 0.4, 0.7}, torch::kFloat64);
  testing::expect_gradients_match([&] { return pearson_loss(input); }, require_gradients(input));
  input.logits = random_input(5, 1).left;
  testing::expect_gradients_match([&] { return pearson_loss(input); }, require_gradients(input));
}

TEST(Pearson, ConstantTargetsOrOnePairHaveNoCorrelation) {
  for (const int64_t m : {1, 4}) {
    LossInput input = random_input(m, 3);
    input.target = torch::full({m}, 0.3, torch::kFloat64);
    const auto leaves = require_gradients(input);
    expect_constant([&] { return pearson_loss(input); }, 1.0, leaves);
  }
}

// 0.1 and its mean over seven pairs differ by rounding, which would look like a correlation.
TEST(Pearson, ConstantScoresHaveNoCorrelationWhateverTheRounding) {
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    for (const double score : {0.1, 1.0 / 3, 1e6, 0.0}) {
      LossInput input = random_input(7, 3);
      input.left = input.left.to(type);
      input.right = input.right.to(type);
      input.logits = torch::full({7, 1}, score, type);
      input.target = torch::tensor({0.1, 0.9, 0.4, 0.4, 0.7, 0.2, 0.8}, type);
      const auto leaves = require_gradients(input);
      expect_constant([&] { return pearson_loss(input); }, 1.0, leaves);
    }
  }
}

TEST(Pearson, ZeroAndIdenticalEmbeddingsStayFinite) {
  for (const double fill : {0.0, 0.1}) {
    LossInput input;
    input.left = torch::full({5, 3}, fill);
    input.right = torch::full({5, 3}, fill);
    input.target = torch::tensor({0.0, 0.3, 0.5, 0.9, 1.0});
    const auto leaves = require_gradients(input);
    expect_constant([&] { return pearson_loss(input); }, 1.0, leaves);
  }
}

double value_of(const std::vector<double>& scores, const std::vector<double>& targets,
                double scale) {
  return ordered_pairs_loss(torch::tensor(scores, torch::kFloat64),
                            torch::tensor(targets, torch::kFloat64), scale)
      .item<double>();
}

TEST(Cosent, CountsEveryPairOfPairsInTheWrongOrder) {
  EXPECT_NEAR(value_of({0.5, 0.25}, {0, 1}, 4.0), std::log(1 + std::exp(1.0)), 1e-12);
  EXPECT_NEAR(value_of({0.5, 0.25}, {1, 0}, 4.0), std::log(1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(value_of({0.0, 0.0, 0.0}, {0, 3, 7}, 20.0), std::log(4.0), 1e-12);
}

TEST(Cosent, LargeDifferencesNeitherOverflowNorVanish) {
  EXPECT_NEAR(value_of({1.0, -1.0}, {0, 1}, 1e4), 2e4, 1e-9);
  EXPECT_NEAR(value_of({-1.0, 1.0}, {0, 1}, 1e4), 0.0, 1e-12);
  for (const double factor : {1e5, -1e5}) {
    LossInput input = testing::random_input(3, 2);
    input.left = input.left.to(torch::kFloat32);
    input.right = input.right.to(torch::kFloat32);
    input.logits = torch::tensor({{1.0}, {0.0}, {-1.0}}, torch::kFloat32) * factor;
    input.target = torch::tensor({0.0, 0.5, 1.0});
    const auto leaves = require_gradients(input);
    testing::expect_finite([&] { return cosent_loss(input, CosentOptions()); }, leaves);
  }
}

TEST(Cosent, OnlyTheOrderOfTheTargetsMatters) {
  LossInput input = testing::random_input(4, 3);
  input.target = torch::tensor({0.1, 0.9, 0.7, 0.1}, torch::kFloat64);
  const double value = cosent_loss(input, CosentOptions()).item<double>();
  input.target = torch::tensor({-3.0, 50.0, 2.0, -3.0}, torch::kFloat64);
  EXPECT_EQ(cosent_loss(input, CosentOptions()).item<double>(), value);
}

TEST(Cosent, GradientsMatchFiniteDifferences) {
  LossInput input = testing::random_input(5, 3);
  input.target = torch::tensor({0.1, 0.9, 0.4, 0.4, 0.7}, torch::kFloat64);
  CosentOptions options;
  options.scale = 3.0;
  testing::expect_gradients_match([&] { return cosent_loss(input, options); },
                                  require_gradients(input));
  input.logits = testing::random_input(5, 1).left;
  testing::expect_gradients_match([&] { return cosent_loss(input, options); },
                                  require_gradients(input));
}

TEST(Cosent, WithoutTwoTargetsTheLossIsZeroWithZeroGradients) {
  for (const int64_t m : {1, 4}) {
    LossInput input = testing::random_input(m, 3);
    input.target = torch::full({m}, 0.3, torch::kFloat64);
    const auto leaves = require_gradients(input);
    testing::expect_constant([&] { return cosent_loss(input, CosentOptions()); }, 0.0, leaves);
  }
}

TEST(Cosent, ZeroAndIdenticalEmbeddingsStayFinite) {
  for (const double fill : {0.0, 1.0}) {
    LossInput input;
    input.left = torch::full({3, 3}, fill);
    input.right = torch::full({3, 3}, fill);
    input.target = torch::tensor({0.0, 0.5, 1.0});
    const auto leaves = require_gradients(input);
    testing::expect_finite([&] { return cosent_loss(input, CosentOptions()); }, leaves);
  }
}

torch::Tensor row(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64).unsqueeze(0);
}

TEST(Angle, ScoreAddsRealAndImaginaryPart) {
  // (1 + 2i) and (3 - i): ac + bd = 1, bc - ad = 7.
  EXPECT_NEAR(angle_scores(row({1, 2}), row({3, -1})).item<double>(),
              8 / std::sqrt(5.0) / std::sqrt(10.0), 1e-12);
  EXPECT_NEAR(angle_scores(row({3, 4}), row({3, 4})).item<double>(), 1.0, 1e-12);
  EXPECT_NEAR(angle_scores(row({3, 4}), row({-3, -4})).item<double>(), 1.0, 1e-12);
}

TEST(Angle, AnOddSizeIsFilledUpWithAZero) {
  const LossInput input = testing::random_input(3, 5);
  const auto filled = [](const torch::Tensor& x) {
    return torch::cat({x, torch::zeros({3, 1}, torch::kFloat64)}, 1);
  };
  EXPECT_LT(testing::largest_difference(angle_scores(input.left, input.right),
                                        angle_scores(filled(input.left), filled(input.right))),
            1e-12);
}

TEST(Angle, IsTheOrderedPairsLossOfItsScores) {
  LossInput input = testing::random_input(4, 4);
  input.target = torch::tensor({0.1, 0.9, 0.7, 0.1}, torch::kFloat64);
  const torch::Tensor scores = angle_scores(input.left, input.right);
  EXPECT_EQ(angle_loss(input, AngleOptions()).item<double>(),
            ordered_pairs_loss(scores, input.target, 20.0).item<double>());
  input.left = input.left * 10;
  EXPECT_LT(testing::largest_difference(angle_scores(input.left, input.right), scores), 1e-12);
}

TEST(Angle, GradientsMatchFiniteDifferences) {
  for (const int64_t size : {3, 4}) {
    LossInput input = testing::random_input(5, size);
    input.target = torch::tensor({0.1, 0.9, 0.4, 0.4, 0.7}, torch::kFloat64);
    AngleOptions options;
    options.scale = 3.0;
    testing::expect_gradients_match([&] { return angle_loss(input, options); },
                                    require_gradients(input));
  }
}

TEST(Angle, ZeroIdenticalAndSingleEmbeddingsStayFinite) {
  for (const double fill : {0.0, 1.0}) {
    for (const int64_t m : {1, 3}) {
      LossInput input;
      input.left = torch::full({m, 1}, fill);
      input.right = torch::full({m, 1}, fill);
      input.target = torch::arange(m).to(torch::kFloat32);
      const auto leaves = require_gradients(input);
      testing::expect_finite([&] { return angle_loss(input, AngleOptions()); }, leaves);
    }
  }
}

using testing::random_input;
using testing::random_texts;
using testing::require_gradients;

LossInput judged(const std::vector<double>& logits, const std::vector<double>& targets) {
  LossInput input = random_input(static_cast<int64_t>(logits.size()), 2);
  input.logits = torch::tensor(logits, torch::kFloat64).unsqueeze(1);
  input.target = torch::tensor(targets, torch::kFloat64);
  return input;
}

TEST(Bce, IsTheCrossEntropyOfTheSigmoid) {
  const double logit = std::log(3.0);  // a probability of 3/4
  BceOptions options;
  EXPECT_NEAR(bce_loss(judged({logit, logit}, {1, 0}), options).item<double>(),
              -(std::log(0.75) + std::log(0.25)) / 2, 1e-12);
  EXPECT_NEAR(bce_loss(judged({logit}, {0.5}), options).item<double>(),
              -(std::log(0.75) + std::log(0.25)) / 2, 1e-12);
  options.positive_weight = 4.0;
  EXPECT_NEAR(bce_loss(judged({logit, logit}, {1, 0}), options).item<double>(),
              -(4 * std::log(0.75) + std::log(0.25)) / 2, 1e-12);
}

TEST(Bce, SwappingTheLabelsTurnsTheLogits) {
  EXPECT_NEAR(bce_loss(judged({0.7, -2.0}, {1, 0.25}), BceOptions()).item<double>(),
              bce_loss(judged({-0.7, 2.0}, {0, 0.75}), BceOptions()).item<double>(), 1e-12);
}

TEST(Bce, GradientsMatchFiniteDifferences) {
  LossInput input = judged({0.7, -2.0, 0.1, 3.0}, {1.0, 0.25, 0.0, 0.0});
  BceOptions options;
  options.positive_weight = 2.5;
  testing::expect_gradients_match([&] { return bce_loss(input, options); },
                                  require_gradients(input));
}

TEST(Bce, ExtremeLogitsAreExact) {
  EXPECT_NEAR(bce_loss(judged({1e5, -1e5}, {1, 0}), BceOptions()).item<double>(), 0.0, 1e-12);
  EXPECT_NEAR(bce_loss(judged({-1e5, 1e5}, {1, 0}), BceOptions()).item<double>(), 1e5, 1e-6);
  for (const double logit : {0.0, 1e30, -1e30}) {
    LossInput input = judged({logit}, {0.0});
    const auto leaves = require_gradients(input);
    testing::expect_finite([&] { return bce_loss(input, BceOptions()); }, leaves);
  }
}

TEST(Bce, OfSingleTextsNeedsOneNumberEach) {
  LossInput input = judged({0.7, -2.0}, {1, 0});
  input.right = torch::Tensor();
  EXPECT_GT(bce_loss(input, BceOptions()).item<double>(), 0.0);
  input.logits = torch::zeros({2, 2}, torch::kFloat64);
  EXPECT_THROW(bce_loss(input, BceOptions()), Error);
  input.logits = torch::Tensor();
  EXPECT_THROW(bce_loss(input, BceOptions()), Error);
}

double softmax_value(const LossInput& input, double label_smoothing = 0.0) {
  SoftmaxClassificationOptions options;
  options.label_smoothing = label_smoothing;
  return softmax_classification_loss(input, options).item<double>();
}

TEST(SoftmaxClassification, IsTheCrossEntropyOfTheClass) {
  LossInput input = random_texts({1, 0}, 3);
  input.logits = torch::tensor({{0.0, std::log(3.0)}, {std::log(4.0), 0.0}}, torch::kFloat64);
  EXPECT_NEAR(softmax_value(input), -(std::log(0.75) + std::log(0.8)) / 2, 1e-12);
  const double even = -(std::log(0.25) + std::log(0.2)) / 2;  // of the wrong classes
  EXPECT_NEAR(softmax_value(input, 0.5), 0.75 * softmax_value(input) + 0.25 * even, 1e-12);
}

TEST(SoftmaxClassification, ANumberAddedToAllLogitsDoesNotMatter) {
  LossInput input = random_texts({2, 0, 1}, 3);
  input.logits = testing::random_input(3, 3).right;
  const double value = softmax_value(input, 0.1);
  input.logits = input.logits + 1000.0;
  EXPECT_NEAR(softmax_value(input, 0.1), value, 1e-10);
}

TEST(SoftmaxClassification, GradientsMatchFiniteDifferences) {
  for (const double label_smoothing : {0.0, 0.2, 1.0}) {
    LossInput input = random_texts({2, 0, 1, 1}, 2);
    input.logits = testing::random_input(4, 3).right;
    SoftmaxClassificationOptions options;
    options.label_smoothing = label_smoothing;
    testing::expect_gradients_match([&] { return softmax_classification_loss(input, options); },
                                    require_gradients(input));
  }
}

TEST(SoftmaxClassification, ExtremeLogitsStayFinite) {
  for (const double factor : {0.0, 1e4, -1e4}) {
    LossInput input = random_texts({0}, 2);
    input.logits = torch::tensor({{1.0, 0.0}}) * factor;
    const auto leaves = require_gradients(input);
    SoftmaxClassificationOptions options;
    options.label_smoothing = 0.1;
    testing::expect_finite([&] { return softmax_classification_loss(input, options); }, leaves);
  }
}

TEST(SoftmaxClassification, MissingLogitsAndWrongClassesAreErrors) {
  LossInput good = random_texts({1, 0}, 3);
  good.logits = torch::zeros({2, 2}, torch::kFloat64);
  std::vector<LossInput> bad(5, good);
  bad[0].logits = torch::Tensor();
  bad[1].classes = torch::Tensor();
  bad[2].classes = torch::tensor({0, 2});
  bad[3].classes = torch::tensor({-1, 0});
  bad[4].logits = torch::zeros({3, 2}, torch::kFloat64);
  for (const LossInput& input : bad) EXPECT_THROW(softmax_value(input), Error);
}

}  // namespace

}  // namespace simile
