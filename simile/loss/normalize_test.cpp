// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/normalize.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_testing.h"

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

}  // namespace
}  // namespace simile
