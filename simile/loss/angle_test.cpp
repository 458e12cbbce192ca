// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/angle.h"

#include "simile/loss/cosent.h"
#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

using testing::require_gradients;

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

}  // namespace
}  // namespace simile
