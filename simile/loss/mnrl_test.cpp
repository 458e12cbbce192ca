// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mnrl.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

TEST(Mnrl, IsTheCrossEntropyOfItsScores) {
  const LossInput input = testing::random_input(4, 3, 1);
  const torch::Tensor right = torch::cat({input.right, input.negatives[0]}, 0);
  const torch::Tensor labels = torch::arange(4);
  MnrlOptions options;
  options.similarity = "dot";
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(input.left.matmul(right.t()), labels).item<double>(),
              1e-12);
  options.similarity = "cosine";
  const torch::Tensor cosines =
      torch::cosine_similarity(input.left.unsqueeze(1), right.unsqueeze(0), 2);
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(20 * cosines, labels).item<double>(), 1e-12);
}

TEST(Mnrl, GradientsMatchFiniteDifferences) {
  for (const std::string similarity : {"cosine", "dot"}) {
    LossInput input = testing::random_input(4, 3, 2);
    MnrlOptions options;
    options.similarity = similarity;
    options.scale = 2.0;
    testing::expect_gradients_match([&] { return mnrl_loss(input, options); },
                                    testing::require_gradients(input));
  }
}

TEST(Mnrl, RowsWithLowTargetsOnlyServeAsNegatives) {
  LossInput input = testing::random_input(2, 3);
  input.target = torch::tensor({1.0, 0.0}, torch::kFloat64);
  LossInput as_column = input;
  for (torch::Tensor* side : {&as_column.left, &as_column.right, &as_column.target}) {
    *side = side->narrow(0, 0, 1);
  }
  as_column.negatives = {input.right.narrow(0, 1, 1)};
  EXPECT_NEAR(2 * mnrl_loss(input, MnrlOptions()).item<double>(),
              mnrl_loss(as_column, MnrlOptions()).item<double>(), 1e-12);
}

TEST(Mnrl, OfAHeadIsTheCrossEntropyOfItsNumbers) {
  LossInput input = testing::random_input(4, 3);
  input.cross_logits = testing::random_input(4, 8).left;
  MnrlOptions options;
  options.similarity = "head";
  const torch::Tensor labels = torch::arange(4);
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(input.cross_logits, labels).item<double>(), 1e-12);
  options.scale = 3.0;
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(3 * input.cross_logits, labels).item<double>(), 1e-12);
  testing::expect_gradients_match([&] { return mnrl_loss(input, options); },
                                  testing::require_gradients(input));
  input.right = torch::Tensor();  // the head has read the texts
  EXPECT_GT(mnrl_loss(input, options).item<double>(), 0.0);
  input.cross_logits = torch::zeros({4, 6}, torch::kFloat64);
  EXPECT_THROW(mnrl_loss(input, options), Error);
  input.cross_logits = torch::Tensor();
  EXPECT_THROW(mnrl_loss(input, options), Error);
}

TEST(Mnrl, ZeroEmbeddingsStayFinite) {
  LossInput input;
  input.left = torch::zeros({2, 3});
  input.right = torch::zeros({2, 3});
  testing::expect_finite([&] { return mnrl_loss(input, MnrlOptions()); },
                         testing::require_gradients(input));
}

TEST(Mnrl, PairsOfOneClassCanBeLeftOut) {
  LossInput input;
  input.left = torch::eye(3, torch::kFloat64);
  input.right = torch::eye(3, torch::kFloat64);
  input.classes = torch::tensor({4, 5, 4}, torch::kInt64);
  MnrlOptions options;
  options.scale = 2;
  options.same_class = "mask";
  const double with_one = std::log(1 + std::exp(-2.0)), with_two = std::log(1 + 2 * std::exp(-2.0));
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(), (2 * with_one + with_two) / 3, 1e-12);
}

constexpr double kTemperature = 0.05;

torch::Tensor text_ids(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

double simcse_value(const LossInput& input, const SimcseOptions& options = {}) {
  return bsc_loss(input, options.bsc).item<double>();
}

// cos(left i, right or negative j) / τ, [m, m + n·m].
torch::Tensor scores_of(const LossInput& input) {
  std::vector<torch::Tensor> right = {input.right};
  right.insert(right.end(), input.negatives.begin(), input.negatives.end());
  const torch::Tensor columns = torch::cat(right, 0);
  return torch::cosine_similarity(input.left.unsqueeze(1), columns.unsqueeze(0), 2) / kTemperature;
}

double cross_entropy(const torch::Tensor& scores) {
  return torch::cross_entropy_loss(scores, torch::arange(scores.size(0))).item<double>();
}

TEST(Simcse, IsTheCrossEntropyOfCosinesAtTheTemperatureOfThePaper) {
  const LossInput pairs = testing::random_input(5, 4), triples = testing::random_input(5, 4, 1);
  EXPECT_NEAR(simcse_value(pairs), cross_entropy(scores_of(pairs)), 1e-12);
  EXPECT_NEAR(simcse_value(triples), cross_entropy(scores_of(triples)), 1e-12);
  EXPECT_NEAR(simcse_value(triples), mnrl_loss(triples, MnrlOptions()).item<double>(), 1e-12);
}

TEST(Simcse, TheHardNegativeWeightCountsAPairsOwnNegativesSoManyTimes) {
  const LossInput input = testing::random_input(3, 4, 2);
  SimcseOptions options;
  options.bsc.hard_negative_weight = 2.0;
  torch::Tensor scores = scores_of(input).exp();
  torch::Tensor own = torch::zeros({3});
  for (int64_t i = 0; i < 3; ++i) own[i] = scores[i][3 + i] + scores[i][6 + i];
  const torch::Tensor expected =
      -(scores.narrow(1, 0, 3).diagonal() / (scores.sum(1) + own)).log().mean();
  EXPECT_NEAR(simcse_value(input, options), expected.item<double>(), 1e-6);
  options.bsc.hard_negative_weight = 1.0;
  EXPECT_NEAR(simcse_value(input, options), cross_entropy(scores_of(input)), 1e-12);
}

TEST(Simcse, GradientsMatchFiniteDifferences) {
  for (const std::string duplicates : {"negatives", "mask", "positives"}) {
    LossInput input = testing::random_input(4, 3, 1);
    input.left_group = input.right_group = text_ids({0, 1, 0, 2});
    SimcseOptions options;
    options.bsc.temperature.value = 0.5;
    options.bsc.duplicates = duplicates;
    options.bsc.hard_negative_weight = 1.7;
    testing::expect_gradients_match([&] { return bsc_loss(input, options.bsc); },
                                    testing::require_gradients(input));
  }
}

TEST(Simcse, SidesOfTheSameTextsAreNotMaskedAsDuplicatesOfThemselves) {
  LossInput input = testing::random_input(4, 3);
  input.left_group = input.right_group = text_ids({7, 8, 9, 10});
  const double plain = simcse_value(input);
  for (const std::string duplicates : {"mask", "positives"}) {
    SimcseOptions options;
    options.bsc.duplicates = duplicates;
    EXPECT_NEAR(simcse_value(input, options), plain, 1e-12) << duplicates;
  }
}

TEST(Simcse, AMaskedDuplicateIsNoNegativeAndTheDiagonalStaysThePositive) {
  LossInput input = testing::random_input(3, 4);
  input.left_group = input.right_group = text_ids({0, 1, 0});
  SimcseOptions options;
  options.bsc.duplicates = "mask";
  torch::Tensor scores = scores_of(input);
  scores[0][2] = scores[2][0] = -1e9;
  EXPECT_NEAR(simcse_value(input, options), cross_entropy(scores), 1e-12);
}

TEST(Simcse, ZeroEmbeddingsStayFinite) {
  LossInput input;
  input.left = torch::zeros({2, 3});
  input.right = torch::zeros({2, 3});
  input.negatives = {torch::zeros({2, 3})};
  SimcseOptions options;
  options.bsc.hard_negative_weight = 3.0;
  testing::expect_finite([&] { return bsc_loss(input, options.bsc); },
                         testing::require_gradients(input));
}

}  // namespace

}  // namespace simile
