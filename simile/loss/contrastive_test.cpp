// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/contrastive.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

using testing::require_gradients;

// Pairs on a line with Euclidean distances as given.
LossInput at_distances(const std::vector<double>& distances, const std::vector<double>& targets) {
  const int64_t m = static_cast<int64_t>(distances.size());
  LossInput input;
  input.left = torch::zeros({m, 1}, torch::kFloat64);
  input.right = torch::tensor(distances, torch::kFloat64).unsqueeze(1);
  input.target = torch::tensor(targets, torch::kFloat64);
  return input;
}

TEST(Contrastive, DrawsPositivesNearAndPushesNegativesToTheMargin) {
  ContrastiveOptions options;
  options.distance = "euclidean";
  const auto value = [&](double distance, double target) {
    return contrastive_loss(at_distances({distance}, {target}), options).item<double>();
  };
  EXPECT_NEAR(value(3.0, 1.0), 4.5, 1e-12);
  EXPECT_NEAR(value(0.2, 0.0), 0.5 * 0.3 * 0.3, 1e-12);
  EXPECT_EQ(value(0.6, 0.0), 0.0);
  EXPECT_EQ(value(0.6, 0.5), 0.0);  // not above the threshold: negative
  EXPECT_NEAR(contrastive_loss(at_distances({3.0, 0.2}, {1.0, 0.0}), options).item<double>(),
              (4.5 + 0.045) / 2, 1e-12);
}

TEST(Contrastive, DistancesAreCosineEuclideanOrManhattan) {
  LossInput input;
  input.left = torch::tensor({{3.0, 0.0}}, torch::kFloat64);
  input.right = torch::tensor({{0.0, 4.0}}, torch::kFloat64);
  for (const auto& [distance, expected] :
       {std::pair<const char*, double>{"cosine", 1.0}, {"euclidean", 5.0}, {"manhattan", 7.0}}) {
    ContrastiveOptions options;
    options.distance = distance;
    EXPECT_NEAR(contrastive_loss(input, options).item<double>(), expected * expected / 2, 1e-12);
  }
  ContrastiveOptions unknown;
  unknown.distance = "city block";
  EXPECT_THROW(contrastive_loss(input, unknown), Error);
}

TEST(Contrastive, GradientsMatchFiniteDifferences) {
  for (const std::string distance : {"cosine", "euclidean", "manhattan"}) {
    LossInput input = testing::random_input(5, 3);
    input.target = torch::tensor({1.0, 0.0, 0.0, 1.0, 0.0}, torch::kFloat64);
    ContrastiveOptions options;
    options.distance = distance;
    options.margin = 1.9;
    testing::expect_gradients_match([&] { return contrastive_loss(input, options); },
                                    require_gradients(input));
  }
}

TEST(Contrastive, ZeroAndIdenticalEmbeddingsStayFinite) {
  for (const std::string distance : {"cosine", "euclidean", "manhattan"}) {
    for (const double fill : {0.0, 1.0}) {
      LossInput input;
      input.left = torch::full({2, 3}, fill);
      input.right = torch::full({2, 3}, fill);
      input.target = torch::tensor({0.0, 1.0});
      ContrastiveOptions options;
      options.distance = distance;
      const auto leaves = require_gradients(input);
      testing::expect_finite([&] { return contrastive_loss(input, options); }, leaves);
    }
  }
}

// Pairs on a line with Euclidean distances as given.
double value_of(const std::vector<double>& distances, const std::vector<double>& targets) {
  const int64_t m = static_cast<int64_t>(distances.size());
  LossInput input;
  input.left = torch::zeros({m, 1}, torch::kFloat64);
  input.right = torch::tensor(distances, torch::kFloat64).unsqueeze(1);
  input.target = torch::tensor(targets, torch::kFloat64);
  OnlineContrastiveOptions options;
  options.distance = "euclidean";
  options.margin = 2.0;
  return online_contrastive_loss(input, options).item<double>();
}

TEST(OnlineContrastive, CountsOnlyPairsOnTheWrongSideOfTheOtherKind) {
  // Positives at 0.5, 1.5 and negatives at 1, 3: 1.5 is beyond the negative at 1, which is nearer.
  EXPECT_NEAR(value_of({0.5, 1.5, 1.0, 3.0}, {1, 1, 0, 0}), 1.5 * 1.5 + 1.0, 1e-12);
  EXPECT_EQ(value_of({0.5, 0.75, 1.0, 3.0}, {1, 1, 0, 0}), 0.0);
}

TEST(OnlineContrastive, WithOnePairOfAKindTheOtherIsComparedWithItsOwnMean) {
  EXPECT_NEAR(value_of({1.0, 3.0}, {1, 1}), 9.0, 1e-12);
  EXPECT_NEAR(value_of({0.5, 1.5}, {0, 0}), 1.5 * 1.5, 1e-12);
  // One positive at 0.25, far below the negatives' mean of 1; both kinds judged apart.
  EXPECT_NEAR(value_of({0.25, 0.5, 1.5}, {1, 0, 0}), 1.5 * 1.5, 1e-12);
  EXPECT_NEAR(value_of({1.0, 3.0, 9.0}, {1, 1, 0}), 9.0, 1e-12);
  EXPECT_EQ(value_of({1.0}, {1}), 0.0);
  EXPECT_EQ(value_of({1.0}, {0}), 0.0);
}

TEST(OnlineContrastive, GradientsMatchFiniteDifferences) {
  for (const std::string distance : {"cosine", "euclidean", "manhattan"}) {
    LossInput input = testing::random_input(6, 3);
    input.target = torch::tensor({1.0, 0.0, 0.0, 1.0, 0.0, 1.0}, torch::kFloat64);
    OnlineContrastiveOptions options;
    options.distance = distance;
    options.margin = 1.9;
    testing::expect_gradients_match([&] { return online_contrastive_loss(input, options); },
                                    require_gradients(input));
  }
}

TEST(OnlineContrastive, WithoutHardPairsTheLossIsZeroWithZeroGradients) {
  for (const double fill : {0.0, 1.0}) {
    LossInput input;
    input.left = torch::full({4, 3}, fill);
    input.right = torch::full({4, 3}, fill);
    input.target = torch::tensor({0.0, 1.0, 1.0, 0.0});
    const auto leaves = require_gradients(input);
    testing::expect_constant(
        [&] { return online_contrastive_loss(input, OnlineContrastiveOptions()); }, 0.0, leaves);
  }
}

}  // namespace

}  // namespace simile
