// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_attention.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "simile/nn/detail/tensor_testing.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr int64_t kSequences = 2, kHeads = 3, kLength = 5, kSize = 4;

AttentionInput random_input(torch::ScalarType type) {
  torch::manual_seed(7);
  const auto draw = [&] {
    return torch::randn({kSequences, kHeads, kLength, kSize}, torch::kDouble).to(type);
  };
  AttentionInput input;
  input.query = draw();
  input.key = draw();
  input.value = draw();
  return input;
}

// Number by number, of keys that are seen.
Tensor by_definition(const AttentionInput& input) {
  const Tensor q = input.query.to(torch::kDouble), k = input.key.to(torch::kDouble);
  Tensor shares = torch::zeros({kSequences, kHeads, kLength, kLength}, torch::kDouble);
  const Tensor hidden = input.hidden.defined() ? input.hidden.expand_as(shares)
                                               : torch::zeros_like(shares, torch::kBool);
  for (int64_t n = 0; n < kSequences; ++n) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < kLength; ++i) {
        for (int64_t j = 0; j < kLength; ++j) {
          if (hidden[n][h][i][j].item<bool>()) continue;
          double score = (q[n][h][i] * k[n][h][j]).sum().item<double>() / std::sqrt(1.0 * kSize);
          if (input.shift.defined()) score += input.shift[h][i][j].item<double>();
          shares[n][h][i][j] = std::exp(score);
        }
      }
    }
  }
  shares = shares / shares.sum(-1, true);
  if (input.factors.defined()) shares = shares * input.factors;
  return shares.matmul(input.value.to(torch::kDouble));
}

// Of the second sequence the last two places are padding.
Tensor padding() {
  Tensor hidden = torch::zeros({kSequences, 1, 1, kLength}, torch::kBool);
  hidden[1].narrow(-1, kLength - 2, 2).fill_(true);
  return hidden;
}

TEST(TorchAttention, IsTheSoftmaxOfTheScores) {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const double tolerance = type == torch::kFloat ? 1e-6 : 1e-14;
    AttentionInput input = random_input(type);
    const auto check = [&](const char* what) {
      const Tensor found = attention_contexts(input);
      EXPECT_EQ(found.scalar_type(), type);
      EXPECT_LT(largest_difference(found, by_definition(input)), tolerance) << what;
    };
    check("plain");
    input.hidden = padding();
    check("padding");
    input.shift = torch::randn({kHeads, kLength, kLength}).to(type);
    check("shift");
    input.factors = (torch::rand({kSequences, kHeads, kLength, kLength}) > 0.3).to(type) / 0.7;
    check("dropout");
  }
}

TEST(TorchAttention, RowsThatSeeNothingAreFiniteAndSoAreGradients) {
  for (const bool with_factors : {false, true}) {
    AttentionInput input = random_input(torch::kFloat);
    input.hidden = padding().expand({kSequences, 1, kLength, kLength}).clone();
    input.hidden[1][0][4].fill_(true);
    if (with_factors) input.factors = torch::ones({kSequences, kHeads, kLength, kLength});
    input.query.set_requires_grad(true);
    input.value.set_requires_grad(true);
    const Tensor contexts = attention_contexts(input);
    EXPECT_TRUE(contexts.isfinite().all().item<bool>());
    contexts.narrow(2, 0, 3).sum().backward();
    EXPECT_TRUE(input.query.grad().isfinite().all().item<bool>());
    EXPECT_TRUE(input.value.grad().isfinite().all().item<bool>());
  }
}

TEST(TorchAttention, BfloatOperandsGiveBfloatContexts) {
  AttentionInput input = random_input(torch::kBFloat16);
  input.hidden = padding();
  const Tensor found = attention_contexts(input);
  EXPECT_EQ(found.scalar_type(), torch::kBFloat16);
  EXPECT_LT(largest_difference(found, by_definition(input)), 0.03);
}

}  // namespace
}  // namespace simile
