// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_input.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"
#include "simile/loss/graded.h"

namespace simile {
namespace {

using testing::largest_difference;

torch::Tensor matrix(std::vector<double> values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  return torch::tensor(values, torch::kFloat64).reshape({rows, columns});
}

TEST(Normalize, GivesTheDefinitions) {
  const torch::Tensor x = matrix({3, 4, 0, -1}, 2);
  const double root17 = std::sqrt(17.0);
  const std::vector<std::pair<std::string, torch::Tensor>> cases = {
      {"none", x},
      {"l2", matrix({0.6, 0.8, 0, -1}, 2)},
      {"coordinate_l2", matrix({1, 4 / root17, 0, -1 / root17}, 2)},
      {"coordinate_range", matrix({1, 0.8, 0, -0.2}, 2)},
      {"coordinate_minmax", matrix({1, 1, 0, 0}, 2)},
  };
  for (const auto& [name, expected] : cases) {
    EXPECT_LT(largest_difference(normalize_embeddings(x, name), expected), 1e-15) << name;
  }
  EXPECT_EQ(cases.size(), normalization_names().size());
}

TEST(Normalize, ZeroRowsAndConstantColumnsGiveZeroWithZeroGradient) {
  for (const std::string& name : normalization_names()) {
    if (name == "none") continue;
    torch::Tensor x = torch::full({3, 2}, name.find("l2") == std::string::npos ? 7.0 : 0.0);
    x.requires_grad_(true);
    const torch::Tensor y = normalize_embeddings(x, name);
    EXPECT_EQ(y.abs().max().item<double>(), 0.0) << name;
    y.sum().backward();
    EXPECT_EQ(x.grad().abs().max().item<double>(), 0.0) << name;
  }
}

TEST(Normalize, GradientsFlowThroughTheDivisor) {
  LossInput input = testing::random_input(4, 3);
  const torch::Tensor weights = input.right;
  input.left.requires_grad_(true);
  for (const std::string& name : normalization_names()) {
    SCOPED_TRACE(name);
    testing::expect_gradients_match(
        [&] { return (normalize_embeddings(input.left, name) * weights).sum(); }, {input.left});
  }
}

TEST(Normalize, UnknownNameIsAnError) {
  EXPECT_THROW(normalize_embeddings(torch::ones({2, 2}), "max"), Error);
}

TEST(RowDistance, IsCosineEuclideanOrManhattan) {
  const torch::Tensor u = torch::tensor({{3.0, 0.0}, {1.0, 1.0}}, torch::kDouble);
  const torch::Tensor v = torch::tensor({{0.0, 4.0}, {1.0, 1.0}}, torch::kDouble);
  const std::vector<std::pair<std::string, double>> cases = {
      {"cosine", 1.0}, {"euclidean", 5.0}, {"manhattan", 7.0}};
  for (const auto& [name, expected] : cases) {
    const torch::Tensor distances = row_distance(u, v, name);
    EXPECT_NEAR(distances[0].item<double>(), expected, 1e-12) << name;
    EXPECT_NEAR(distances[1].item<double>(), 0.0, 1e-12) << name;
  }
  EXPECT_THROW(row_distance(u, v, "chebyshev"), Error);
}

TEST(PairScores, AreCosinesOrTheNumbersOfAHead) {
  LossInput input = testing::random_input(4, 3);
  const torch::Tensor cosines = torch::cosine_similarity(input.left, input.right, 1);
  EXPECT_LT(testing::largest_difference(pair_scores(input), cosines), 1e-12);
  input.logits = torch::tensor({{3.0}, {-2.0}, {0.5}, {0.0}}, torch::kFloat64);
  EXPECT_TRUE(torch::equal(pair_scores(input), input.logits.squeeze(1)));
}

TEST(PairScores, OfAHeadNeedNoRightSide) {
  LossInput input = testing::random_input(2, 3);
  input.right = torch::Tensor();
  EXPECT_THROW(pair_scores(input), Error);
  input.logits = torch::ones({2, 1}, torch::kFloat64);
  EXPECT_EQ(pair_scores(input).sizes(), (std::vector<int64_t>{2}));
}

TEST(PairScores, AreOneNumberAPair) {
  LossInput input = testing::random_input(3, 2);
  for (const auto& shape : std::vector<std::vector<int64_t>>{{3, 2}, {2, 1}, {3}, {3, 1, 1}}) {
    input.logits = torch::zeros(shape, torch::kFloat64);
    EXPECT_THROW(pair_scores(input), Error);
  }
  input.logits = torch::Tensor();
  EXPECT_THROW(single_logits(input, "test"), Error);
}

TEST(PairScores, OfAHeadAreWhatMseComparesWithTheTarget) {
  LossInput input = testing::random_input(2, 3);
  input.logits = torch::tensor({{0.75}, {2.0}}, torch::kFloat64);
  input.target = torch::tensor({0.25, 1.0}, torch::kFloat64);
  EXPECT_NEAR(mse_loss(input).item<double>(), (0.25 + 1.0) / 2, 1e-12);
  testing::expect_gradients_match([&] { return mse_loss(input); },
                                  testing::require_gradients(input));
}

TemperatureOptions trained(double value, const std::string& parametrization) {
  return {value, true, 1e-3, parametrization};
}

TEST(Temperature, FixedOneIsAConstant) {
  const Temperature temperature(TemperatureOptions{0.05, false, 1e-3, "log"});
  EXPECT_FALSE(temperature.trainable());
  EXPECT_EQ(temperature.value(), 0.05);
  EXPECT_DOUBLE_EQ(temperature.scale(torch::ones({1}, torch::kFloat64)).item<double>(), 20.0);
}

TEST(Temperature, TrainedOneStartsAtItsValueAndPassesTheGradientOn) {
  for (const std::string parametrization : {"log", "scale"}) {
    const Temperature temperature(trained(0.25, parametrization));
    EXPECT_NEAR(temperature.value(), 0.25, 1e-7);
    const torch::Tensor scale = temperature.scale(torch::ones({1}));
    EXPECT_NEAR(scale.item<double>(), 4.0, 1e-6);
    scale.backward();
    const double expected = parametrization == "log" ? 4.0 : 1.0;  // d exp(p)/dp = s
    EXPECT_NEAR(temperature.parameter().grad().item<double>(), expected, 1e-6);
  }
}

TEST(Temperature, ClampKeepsItInBounds) {
  for (const std::string parametrization : {"log", "scale"}) {
    for (const double parameter : {-1e9, 1e9}) {
      Temperature temperature(trained(1.0, parametrization));
      temperature.load_state(parameter);
      const double expected = parameter > 0 ? kMinimumTemperature : kMaximumTemperature;
      EXPECT_NEAR(temperature.value(), expected, 1e-5 * expected);
      EXPECT_GE(temperature.value(), kMinimumTemperature);
      EXPECT_LE(temperature.value(), kMaximumTemperature);
    }
  }
}

TEST(Temperature, StateReturnsBitForBit) {
  Temperature temperature(trained(0.07, "log")), other(trained(1.0, "log"));
  other.load_state(temperature.state());
  EXPECT_EQ(other.state(), temperature.state());
  EXPECT_THROW(other.load_state(std::numeric_limits<double>::quiet_NaN()), Error);
}

}  // namespace
}  // namespace simile
