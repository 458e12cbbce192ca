// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/pair_scores.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_testing.h"
#include "simile/loss/mse.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
