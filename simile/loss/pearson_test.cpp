// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/pearson.h"

#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

using testing::expect_constant;
using testing::random_input;
using testing::require_gradients;

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

}  // namespace
}  // namespace simile
