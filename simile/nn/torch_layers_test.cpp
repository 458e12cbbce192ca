// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_layers.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "simile/kernel/vector_kernels.h"
#include "simile/nn/detail/tensor_setup_test.h"

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

// The last two places of the second sequence are padding.
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

using torch::Tensor;

EncoderDropout every_dropout() {
  EncoderDropout dropout;
  dropout.hidden = 0.1f;
  dropout.attention = 0.25f;
  dropout.head = 0.6f;
  dropout.embedding = 0.35f;
  dropout.attended = 0.5f;
  dropout.key = 0x9123456789abcdefull;
  dropout.step = (uint64_t{3} << 32) + 7;
  return dropout;
}

constexpr DropoutPlace kPlaces[] = {DropoutPlace::kEmbedding, DropoutPlace::kAttentionOutput,
                                    DropoutPlace::kOutput, DropoutPlace::kAttention,
                                    DropoutPlace::kInner};

// Bytes first ... of the mask as factors [8 bytes].
Tensor expected_factors(const DropoutMask& mask, int64_t first, int64_t bytes) {
  std::vector<uint8_t> keep(static_cast<size_t>(bytes));
  mask.fill(first, bytes, keep.data());
  std::vector<float> factors;
  for (const uint8_t byte : keep) {
    for (int bit = 0; bit < 8; ++bit) factors.push_back((byte >> bit & 1) != 0 ? mask.scale() : 0);
  }
  return torch::tensor(factors);
}

TEST(TorchDropout, RowsHaveTheBitsOfTheKernels) {
  for (const DropoutPlace place : kPlaces) {
    for (const int64_t layer : {0, 11}) {
      for (const int64_t width : {1, 16, 27, 64}) {
        for (const int64_t first : {int64_t{0}, int64_t{13}, int64_t{1} << 33}) {
          const DropoutMask mask(every_dropout(), place, layer);
          constexpr int64_t kRows = 9;
          const int64_t bytes = mask_bytes(width);
          const Tensor expected = expected_factors(mask, first * bytes, kRows * bytes)
                                      .view({kRows, 8 * bytes})
                                      .narrow(1, 0, width);
          const Tensor found = dropout_rows({mask}, first, kRows, width, torch::zeros({1}))[0];
          EXPECT_TRUE(torch::equal(found, expected)) << width << " from " << first;
          const Tensor exact =
              dropout_rows({mask}, first, kRows, width, torch::zeros({1}, torch::kDouble))[0];
          EXPECT_TRUE(torch::equal(exact, expected.to(torch::kDouble)));
        }
      }
    }
  }
}

TEST(TorchDropout, MasksDrawnTogetherAreThoseDrawnAlone) {
  std::vector<DropoutMask> masks;
  for (const DropoutPlace place : kPlaces) masks.emplace_back(every_dropout(), place, 3);
  for (const int64_t rows : {2, 22000}) {
    const auto found = dropout_rows(masks, 7, rows, 384, torch::zeros({1}));
    for (size_t i = 0; i < masks.size(); ++i) {
      const Tensor alone = dropout_rows({masks[i]}, 7, rows, 384, torch::zeros({1}))[0];
      EXPECT_TRUE(torch::equal(found[i], alone)) << rows << ", mask " << i;
    }
  }
}

TEST(TorchDropout, BytesInAnyOrderHaveTheBitsOfTheKernels) {
  const DropoutMask mask(every_dropout(), DropoutPlace::kAttention, 5);
  const Tensor expected = expected_factors(mask, 1000, 64).view({64, 8});
  const Tensor order = torch::randperm(64, torch::kInt64);
  const Tensor bytes = draw_masks({mask}, 1000, 64, torch::kCPU).index_select(1, order);
  const Tensor found = dropout_factors({mask}, bytes.view({1, 4, 16}), torch::zeros({1}))[0];
  EXPECT_TRUE(torch::equal(found, expected.index_select(0, order).view({4, 128})));
}

TEST(TorchDropout, HeadsAndTheirSurvivorsHaveTheBitsOfTheKernels) {
  for (const float p : {0.1f, 0.9f}) {
    for (const int64_t heads : {1, 3, 12}) {
      EncoderDropout dropout = every_dropout();
      dropout.head = p;
      const DropoutMask mask(dropout, DropoutPlace::kHead, 2);
      constexpr int64_t kSequences = 200, kFirst = 77;
      const Tensor expected = torch::empty({kSequences, heads});
      for (int64_t i = 0; i < kSequences; ++i) {
        mask.fill_heads(kFirst + i, heads, expected.data_ptr<float>() + i * heads);
      }
      const Tensor found = dropout_heads(mask, kFirst, kSequences, heads, torch::zeros({1}));
      EXPECT_TRUE(torch::equal(found, expected)) << heads << " heads, p " << p;
      EXPECT_TRUE((found > 0).any(1).all().item<bool>());
    }
  }
}

}  // namespace

}  // namespace simile
