// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mse.h"

#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
