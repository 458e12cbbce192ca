// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/global_orthogonal.h"

#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

using testing::require_gradients;

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
