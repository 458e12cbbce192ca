// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/combo.h"

#include "simile/loss/detail/loss_testing.h"
#include "simile/loss/mse.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
