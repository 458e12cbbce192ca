// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/similarity.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "simile/core/error.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
