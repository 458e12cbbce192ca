// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/cosent.h"

#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

using testing::require_gradients;

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

}  // namespace
}  // namespace simile
