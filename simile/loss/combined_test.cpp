// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/combined.h"

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/loss_setup_test.h"
#include "simile/loss/graded.h"
#include "simile/loss/loss_options.h"

namespace simile {
namespace {

using testing::random_input;
using testing::require_gradients;

LossInput graded_input() {
  LossInput input = testing::random_input(4, 3);
  input.target = torch::tensor({0.1, 0.9, 0.7, 0.0}, torch::kFloat64);
  return input;
}

TEST(Combo, AtTheEndsEqualsItsParts) {
  const LossInput input = graded_input();
  ComboOptions options;
  options.mu = 1.0;
  EXPECT_EQ(combo_loss(input, options).item<double>(), bsc_loss(input, options.bsc).item<double>());
  options.mu = 0.0;
  EXPECT_EQ(combo_loss(input, options).item<double>(), mse_loss(input).item<double>());
}

TEST(Combo, BetweenIsTheWeightedSum) {
  const LossInput input = graded_input();
  ComboOptions options;
  options.mu = 0.3;
  const double expected =
      0.3 * bsc_loss(input, options.bsc).item<double>() + 0.7 * mse_loss(input).item<double>();
  EXPECT_NEAR(combo_loss(input, options).item<double>(), expected, 1e-12);
}

TEST(Combo, GradientsMatchFiniteDifferences) {
  LossInput input = graded_input();
  testing::expect_gradients_match([&] { return combo_loss(input, ComboOptions()); },
                                  testing::require_gradients(input));
}

torch::Tensor plain(const LossInput& input) { return bsc_loss(input, BscOptions()); }

double matryoshka_value(const LossInput& input, std::vector<int64_t> dimensions,
                        std::vector<double> weights = {}) {
  return matryoshka_loss(input, {std::move(dimensions), std::move(weights)}, plain).item<double>();
}

TEST(Matryoshka, TheWholeLengthAloneIsThePlainLoss) {
  const LossInput input = random_input(4, 6, 1);
  EXPECT_NEAR(matryoshka_value(input, {6}), plain(input).item<double>(), 1e-12);
}

TEST(Matryoshka, IsTheWeightedSumOverPrefixes) {
  const LossInput input = random_input(4, 6, 1);
  const double both = matryoshka_value(input, {6, 2}, {1, 0.5});
  EXPECT_NEAR(both, matryoshka_value(input, {6}) + 0.5 * matryoshka_value(input, {2}), 1e-12);
}

TEST(Matryoshka, APrefixDoesNotSeeTheRest) {
  LossInput input = random_input(4, 6);
  const double before = matryoshka_value(input, {3});
  input.left = input.left.clone();
  input.left.narrow(1, 3, 3).zero_();
  EXPECT_NEAR(matryoshka_value(input, {3}), before, 1e-12);
}

TEST(Matryoshka, GradientsMatchFiniteDifferences) {
  LossInput input = random_input(3, 4, 1);
  const auto leaves = testing::require_gradients(input);
  testing::expect_gradients_match(
      [&] {
        return matryoshka_loss(input, {{4, 1}, {1, 2}}, plain);
      },
      leaves);
}

TEST(Matryoshka, ZeroVectorsAreFinite) {
  LossInput input = random_input(3, 4);
  input.left.zero_();
  const auto leaves = testing::require_gradients(input);
  testing::expect_finite([&] { return matryoshka_loss(input, {{2}, {}}, mse_loss); }, leaves);
}

TEST(Matryoshka, RefusesLengthsThatAreNone) {
  const LossInput input = random_input(3, 4);
  for (const int64_t dimension : {5, 0, -1}) {
    EXPECT_THROW(matryoshka_value(input, {dimension}), Error) << dimension;
  }
  EXPECT_THROW(matryoshka_value(input, {}), Error);
  EXPECT_THROW(matryoshka_value(input, {2}, {1, 2}), Error);
  for (const char* own : {"dimensions: [two]", "dimensions: [2.5]", "dimensions: [0]",
                          "dimensions: [2], weights: [much]", "dimensions: [2], weights: [.inf]"}) {
    LossOptions options;
    const std::string yaml = std::string("{name: matryoshka, of: bsc, ") + own + "}";
    EXPECT_THROW(read_options(parse_config(yaml, "test"), options), Error) << own;
  }
}

double orthogonal_value(const LossInput& input) {
  return global_orthogonal_loss(input).item<double>();
}

TEST(GlobalOrthogonal, PunishesMeanAndSecondMomentOfOtherPairsCosines) {
  LossInput input;
  input.left = torch::ones({3, 4}, torch::kFloat64);
  input.right = torch::ones({3, 4}, torch::kFloat64);
  EXPECT_NEAR(orthogonal_value(input), 1.0 + 1.0 - 0.25, 1e-12);
  input.left = torch::eye(3, 4, torch::kFloat64);
  input.right = torch::eye(3, 4, torch::kFloat64) * 7;
  EXPECT_EQ(orthogonal_value(input), 0.0);
}

TEST(GlobalOrthogonal, OwnPairsAndLengthsDoNotMatter) {
  LossInput input = testing::random_input(2, 3);
  const double value = orthogonal_value(input);
  input.left = input.left * 5;
  EXPECT_NEAR(orthogonal_value(input), value, 1e-12);
  // Two pairs: the cells (0, 1) and (1, 0) remain when left 0 and right 0 turn together.
  std::swap(input.left, input.right);
  EXPECT_NEAR(orthogonal_value(input), value, 1e-12);
}

TEST(GlobalOrthogonal, GradientsMatchFiniteDifferences) {
  for (const int64_t size : {2, 5}) {
    LossInput input = testing::random_input(4, size);
    testing::expect_gradients_match([&] { return global_orthogonal_loss(input); },
                                    require_gradients(input));
  }
}

TEST(GlobalOrthogonal, OnePairGivesZero) {
  LossInput input = testing::random_input(1, 3);
  const auto leaves = require_gradients(input);
  testing::expect_constant([&] { return global_orthogonal_loss(input); }, 0.0, leaves);
}

TEST(GlobalOrthogonal, ZeroEmbeddingsStayFinite) {
  LossInput input;
  input.left = torch::zeros({3, 3});
  input.right = torch::zeros({3, 3});
  const auto leaves = require_gradients(input);
  testing::expect_finite([&] { return global_orthogonal_loss(input); }, leaves);
}

}  // namespace

}  // namespace simile
