// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mnrl.h"

#include "simile/core/error.h"
#include "simile/loss/detail/loss_testing.h"

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

}  // namespace
}  // namespace simile
