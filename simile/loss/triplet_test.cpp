// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/triplet.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

LossInput one_triplet(double positive, double negative) {
  LossInput input;
  input.left = torch::zeros({1, 2}, torch::kFloat64);
  input.right = torch::tensor({{positive, 0.0}}, torch::kFloat64);
  input.negatives = {torch::tensor({{0.0, negative}}, torch::kFloat64)};
  return input;
}

TEST(Triplet, IsTheDifferenceOfDistancesPlusTheMargin) {
  EXPECT_NEAR(triplet_loss(one_triplet(1.0, 1.2), TripletOptions()).item<double>(), 0.3, 1e-12);
  EXPECT_EQ(triplet_loss(one_triplet(1.0, 2.0), TripletOptions()).item<double>(), 0.0);
}

TEST(Triplet, SeveralNegativesAreAveraged) {
  LossInput input = one_triplet(1.0, 1.2);
  input.negatives.push_back(torch::tensor({{0.0, 2.0}}, torch::kFloat64));
  EXPECT_NEAR(triplet_loss(input, TripletOptions()).item<double>(), 0.15, 1e-12);
}

TEST(Triplet, GradientsMatchFiniteDifferences) {
  for (const std::string distance : {"euclidean", "cosine"}) {
    LossInput input = testing::random_input(4, 3, 2);
    TripletOptions options;
    options.distance = distance;
    testing::expect_gradients_match([&] { return triplet_loss(input, options); },
                                    testing::require_gradients(input));
  }
}

TEST(Triplet, ZeroAndIdenticalEmbeddingsStayFinite) {
  for (const std::string distance : {"euclidean", "cosine"}) {
    for (const double fill : {0.0, 1.0}) {
      LossInput input;
      input.left = torch::full({2, 3}, fill);
      input.right = torch::full({2, 3}, fill);
      input.negatives = {torch::full({2, 3}, fill)};
      TripletOptions options;
      options.distance = distance;
      testing::expect_finite([&] { return triplet_loss(input, options); },
                             testing::require_gradients(input));
    }
  }
}

TEST(Triplet, WithoutNegativesIsAnError) {
  EXPECT_THROW(triplet_loss(testing::random_input(2, 2), TripletOptions()), Error);
}

}  // namespace
}  // namespace simile
