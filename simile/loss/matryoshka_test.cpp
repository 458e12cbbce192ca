// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/matryoshka.h"

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/loss_testing.h"
#include "simile/loss/mse.h"

namespace simile {
namespace {

using testing::random_input;

torch::Tensor plain(const LossInput& input) { return bsc_loss(input, BscOptions()); }

double matryoshka_value(const LossInput& input, std::vector<std::string> dimensions,
                        std::vector<std::string> weights = {}) {
  return matryoshka_loss(input, {std::move(dimensions), std::move(weights)}, plain).item<double>();
}

TEST(Matryoshka, TheWholeLengthAloneIsThePlainLoss) {
  const LossInput input = random_input(4, 6, 1);
  EXPECT_NEAR(matryoshka_value(input, {"6"}), plain(input).item<double>(), 1e-12);
}

TEST(Matryoshka, IsTheWeightedSumOverPrefixes) {
  const LossInput input = random_input(4, 6, 1);
  const double both = matryoshka_value(input, {"6", "2"}, {"1", "0.5"});
  EXPECT_NEAR(both, matryoshka_value(input, {"6"}) + 0.5 * matryoshka_value(input, {"2"}), 1e-12);
}

TEST(Matryoshka, APrefixDoesNotSeeTheRest) {
  LossInput input = random_input(4, 6);
  const double before = matryoshka_value(input, {"3"});
  input.left = input.left.clone();
  input.left.narrow(1, 3, 3).zero_();
  EXPECT_NEAR(matryoshka_value(input, {"3"}), before, 1e-12);
}

TEST(Matryoshka, GradientsMatchFiniteDifferences) {
  LossInput input = random_input(3, 4, 1);
  const auto leaves = testing::require_gradients(input);
  testing::expect_gradients_match(
      [&] {
        return matryoshka_loss(input, {{"4", "1"}, {"1", "2"}}, plain);
      },
      leaves);
}

TEST(Matryoshka, ZeroVectorsAreFinite) {
  LossInput input = random_input(3, 4);
  input.left.zero_();
  const auto leaves = testing::require_gradients(input);
  testing::expect_finite([&] { return matryoshka_loss(input, {{"2"}, {}}, mse_loss); }, leaves);
}

TEST(Matryoshka, RefusesLengthsThatAreNone) {
  const LossInput input = random_input(3, 4);
  for (const char* dimension : {"5", "0", "two", "-1", "2.5"}) {
    EXPECT_THROW(matryoshka_value(input, {dimension}), Error) << dimension;
  }
  EXPECT_THROW(matryoshka_value(input, {}), Error);
  EXPECT_THROW(matryoshka_value(input, {"2"}, {"1", "2"}), Error);
  EXPECT_THROW(matryoshka_value(input, {"2"}, {"much"}), Error);
}

}  // namespace
}  // namespace simile
