// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/head_losses.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

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
