// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/margin_losses.h"

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

TEST(OnlineContrastive, WithOneKindAloneItIsComparedWithItsOwnMean) {
  EXPECT_NEAR(value_of({1.0, 3.0}, {1, 1}), 9.0, 1e-12);
  EXPECT_NEAR(value_of({0.5, 1.5}, {0, 0}), 1.5 * 1.5, 1e-12);
  EXPECT_EQ(value_of({1.0}, {1}), 0.0);
  EXPECT_EQ(value_of({1.0}, {0}), 0.0);
}

TEST(OnlineContrastive, ASinglePairOfAKindIsWhatTheOtherIsComparedWith) {
  EXPECT_EQ(value_of({0.25, 0.5, 1.5}, {1, 0, 0}), 0.0);
  EXPECT_NEAR(value_of({1.0, 0.5, 1.5}, {1, 0, 0}), 1.0 + 1.5 * 1.5, 1e-12);
  EXPECT_EQ(value_of({1.0, 3.0, 9.0}, {1, 1, 0}), 0.0);
  EXPECT_NEAR(value_of({1.0, 3.0, 1.5}, {1, 1, 0}), 9.0 + 0.25, 1e-12);
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

using testing::require_gradients;

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

const std::vector<std::string> kMinings = {"batch_hard", "batch_semi_hard", "batch_all"};

TripletOptions mining_options(const std::string& mining, const std::string& distance,
                              double margin = 0.5) {
  TripletOptions options;
  options.mining = mining;
  options.distance = distance;
  options.margin = margin;
  return options;
}

// Texts at places of a line.
LossInput line(const std::vector<double>& places, const std::vector<int64_t>& classes) {
  LossInput input;
  input.left = torch::tensor(places, torch::kFloat64).unsqueeze(1);
  input.classes = torch::tensor(classes, torch::kInt64);
  return input;
}

double line_value(const std::string& mining, const std::vector<double>& places,
                  const std::vector<int64_t>& classes, double margin = 0.5) {
  return triplet_loss(line(places, classes), mining_options(mining, "euclidean", margin))
      .item<double>();
}

// Classes 0 at 0 and 2, class 1 at 3: the anchor at 3 has no positive. Anchor 0: d+ = 2, d- = 3.
// Anchor 2: d+ = 2, d- = 1. batch_hard keeps anchor 3: d+ = 0, d- = 1.
TEST(BatchTriplet, OfThreeTextsOnALineHasKnownValues) {
  EXPECT_NEAR(line_value("batch_hard", {0, 2, 3}, {0, 0, 1}), (0.0 + 1.5 + 0.0) / 3, 1e-12);
  EXPECT_NEAR(line_value("batch_hard", {0, 2, 3}, {0, 0, 1}, 2), (1.0 + 3.0 + 1.0) / 3, 1e-12);
  EXPECT_NEAR(line_value("batch_semi_hard", {0, 2, 3}, {0, 0, 1}), (0.0 + 1.5) / 2, 1e-12);
  EXPECT_NEAR(line_value("batch_all", {0, 2, 3}, {0, 0, 1}), 1.5, 1e-12);
}

// Anchor 0 has its positive at 1 and negatives at 0.5 and 1.25; anchor 1 negatives 0.5, 0.25 away.
TEST(BatchTriplet, MiningsChooseDifferentNegatives) {
  const std::vector<double> places = {0, 1, 0.5, 1.25};
  const std::vector<int64_t> classes = {0, 0, 1, 2};
  // The anchors at 0.5 and 1.25 are alone; their nearest are 0.5 and 0.25 away.
  EXPECT_NEAR(line_value("batch_hard", places, classes), (1.0 + 1.25 + 0.0 + 0.25) / 4, 1e-12);
  // Anchor 0: 1.25 is beyond the positive. Anchor 1: none is, and the farthest is 0.5 away.
  EXPECT_NEAR(line_value("batch_semi_hard", places, classes), (0.25 + 1.0) / 2, 1e-12);
  EXPECT_NEAR(line_value("batch_all", places, classes), (1.0 + 0.25 + 1.0 + 1.25) / 4, 1e-12);
}

TEST(BatchTriplet, OrderOfTheTextsAndNamesOfTheClassesDoNotMatter) {
  const LossInput input = testing::random_texts({0, 1, 0, 2, 1, 0}, 3);
  LossInput other = input;
  other.left = input.left.flip({0});
  other.classes = torch::tensor({7, 3, 9, 7, 3, 7}, torch::kInt64);
  for (const std::string& mining : kMinings) {
    for (const std::string distance : {"euclidean", "cosine"}) {
      const TripletOptions options = mining_options(mining, distance);
      EXPECT_NEAR(triplet_loss(input, options).item<double>(),
                  triplet_loss(other, options).item<double>(), 1e-12)
          << mining << " " << distance;
    }
  }
}

TEST(BatchTriplet, GradientsMatchFiniteDifferences) {
  for (const std::string& mining : kMinings) {
    for (const std::string distance : {"euclidean", "cosine"}) {
      SCOPED_TRACE(mining + " " + distance);
      LossInput input = testing::random_texts({0, 1, 0, 2, 1, 0}, 3);
      const TripletOptions options = mining_options(mining, distance);
      testing::expect_gradients_match([&] { return triplet_loss(input, options); },
                                      require_gradients(input));
    }
  }
}

TEST(BatchTriplet, WithoutTripletsTheLossIsZeroWithZeroGradients) {
  const std::vector<std::vector<int64_t>> cases = {{0}, {3, 3, 3}, {0, 1, 2}};
  for (const auto& classes : cases) {
    for (const std::string& mining : kMinings) {
      if (mining == "batch_hard" && classes.back() == 2) continue;  // each is alone, and counts
      for (const std::string distance : {"euclidean", "cosine"}) {
        LossInput input = testing::random_texts(classes, 3);
        const auto leaves = require_gradients(input);
        const TripletOptions options = mining_options(mining, distance);
        testing::expect_constant([&] { return triplet_loss(input, options); }, 0.0, leaves);
      }
    }
  }
}

TEST(BatchTriplet, ZeroAndIdenticalEmbeddingsCostTheMarginWithFiniteGradients) {
  for (const std::string& mining : kMinings) {
    for (const std::string distance : {"euclidean", "cosine"}) {
      for (const double fill : {0.0, 1.0}) {
        LossInput input = testing::random_texts({0, 1, 0, 1}, 3);
        input.left = torch::full({4, 3}, fill);
        const auto leaves = require_gradients(input);
        const TripletOptions options = mining_options(mining, distance);
        testing::expect_finite([&] { return triplet_loss(input, options); }, leaves);
        EXPECT_NEAR(triplet_loss(input, options).item<double>(), 0.5, 1e-6);
      }
    }
  }
}

TEST(BatchTriplet, MissingClassesAndUnknownMiningsAreErrors) {
  LossInput input = testing::random_texts({0, 1}, 3);
  EXPECT_THROW(batch_triplet_loss(input, mining_options("none", "cosine")), Error);
  input.classes = torch::Tensor();
  EXPECT_THROW(triplet_loss(input, mining_options("batch_all", "cosine")), Error);
}

}  // namespace

}  // namespace simile
