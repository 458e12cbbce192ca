// SPDX-License-Identifier: Apache-2.0
#include "simile/train/gradient_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/config.h"
#include "simile/core/random.h"
#include "simile/loss/loss.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

EncoderShape small_shape() {
  EncoderShape shape;
  shape.vocabulary = 50;
  shape.positions = 32;
  shape.types = 2;
  shape.hidden = 32;
  shape.layers = 2;
  shape.heads = 4;
  shape.intermediate = 64;
  return shape;
}

std::vector<std::vector<int32_t>> random_texts(int count) {
  RandomStream random(3, "texts");
  std::vector<std::vector<int32_t>> texts(static_cast<size_t>(count));
  for (auto& text : texts) {
    text.resize(1 + random.below(12));
    for (int32_t& id : text) id = static_cast<int32_t>(random.below(50));
  }
  return texts;
}

std::vector<int32_t> numbers_below(size_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(GradientCache, ChunksHoldWholeTextsInOrderUpToTheirTokens) {
  const std::vector<std::vector<int32_t>> texts = {{1, 2}, {3}, {4, 5, 6, 7, 8, 9}, {10}};
  const auto sizes = [&](int64_t tokens) {
    std::vector<int64_t> found;
    for (const BatchChunk& chunk : cut_chunks(texts, {}, {0, 1, 2, 3}, tokens, small_shape(), {})) {
      found.push_back(chunk.packed.tokens());
    }
    return found;
  };
  EXPECT_EQ(sizes(0), (std::vector<int64_t>{10}));
  EXPECT_EQ(sizes(3), (std::vector<int64_t>{3, 6, 1}));
  EXPECT_EQ(sizes(1), (std::vector<int64_t>{2, 1, 6, 1}));
  EXPECT_EQ(sizes(100), (std::vector<int64_t>{10}));
  EXPECT_EQ(cut_chunks(texts, {}, {}, 3, small_shape(), {}).size(), 1u);
}

// One batch for every loss: pairs with a negative each, scores, classes, groups, teachers.
class BatchOfAll {
 public:
  static constexpr int64_t kPairs = 12;
  static constexpr int64_t kOutputs = 3;

  explicit BatchOfAll(const LossNeeds& needs) : needs_(needs) { torch::manual_seed(5); }

  LossInput read(const torch::Tensor& embeddings) const {
    LossInput input;
    input.left = embeddings.narrow(0, 0, kPairs);
    if (needs_.texts != TextNeed::kSingles) input.right = embeddings.narrow(0, kPairs, kPairs);
    if (needs_.negatives != Requirement::kIgnored) {
      input.negatives = {embeddings.narrow(0, 2 * kPairs, kPairs)};
    }
    input.target = torch::arange(kPairs) % 2;
    input.left_group = input.right_group = torch::arange(kPairs) % 9;
    if (needs_.classes != Requirement::kIgnored) input.classes = torch::arange(kPairs) % kOutputs;
    if (needs_.head != HeadNeed::kNone) {
      const int64_t outputs = needs_.head == HeadNeed::kClasses ? kOutputs : 1;
      input.logits = input.left.narrow(1, 0, outputs) * 2;
    }
    if (needs_.teachers != Requirement::kIgnored) {
      input.left_teachers = {vectors_.narrow(0, 0, kPairs)};
      input.right_teachers = {vectors_.narrow(0, kPairs, kPairs)};
    }
    return input;
  }

 private:
  LossNeeds needs_;
  torch::Tensor vectors_ = torch::randn({2 * kPairs, small_shape().hidden});
};

class GradientCacheOf : public ::testing::TestWithParam<std::string> {
 protected:
  GradientCacheOf() : texts_(random_texts(3 * BatchOfAll::kPairs)) {
    RandomStream random(1, "weights");
    float* const weights = encoder_.parameters().data_ptr<float>();
    for (int64_t i = 0; i < encoder_.parameter_count(); ++i) {
      weights[i] = static_cast<float>(0.2 * random.normal());
    }
    dropout_.hidden = dropout_.attention = 0.1f;
    dropout_.head = 0.2f;
    dropout_.step = 7;
  }

  // The gradient of the encoder's weights, then of the loss's own parameters.
  std::vector<double> gradient(const std::string& name, int64_t tokens) {
    LossOptions options;  // as `simile docs losses` shows it
    read_options(parse_config(find_loss(name).example, "test"), options);
    Loss loss(options, {small_shape().hidden, small_shape().hidden, 1});
    const BatchOfAll batch(loss.needs());
    const auto chunks =
        cut_chunks(texts_, {}, numbers_below(texts_.size()), tokens, small_shape(), dropout_);
    const EncodeChunk encode = [&](const BatchChunk& chunk) {
      return pool_tokens(encoder_.forward(chunk.packed, chunk.dropout), chunk.packed.offsets,
                         PoolingMode::kMean);
    };
    encoder_.gradients().zero_();
    if (tokens == 0) {
      loss(batch.read(encode(chunks[0]))).backward();
    } else {
      EXPECT_GT(chunks.size(), 4u);
      const torch::Tensor vectors = encode_without_graph(chunks, encode).requires_grad_(true);
      loss(batch.read(vectors)).backward();
      carry_gradient(chunks, encode, vectors.grad());
    }
    const float* const gradients = encoder_.gradients().data_ptr<float>();
    std::vector<double> all(gradients, gradients + encoder_.parameter_count());
    for (const LossParameter& parameter : loss.parameters()) {
      const torch::Tensor grad = parameter.tensor.grad().contiguous();
      all.insert(all.end(), grad.data_ptr<float>(), grad.data_ptr<float>() + grad.numel());
    }
    return all;
  }

  std::unique_ptr<TrainableEncoder> owner_ = make_fused_encoder(small_shape());
  TrainableEncoder& encoder_ = *owner_;
  std::vector<std::vector<int32_t>> texts_;
  EncoderDropout dropout_;
};

TEST_P(GradientCacheOf, IsThatOfTheWholeBatch) {
  const std::vector<double> whole = gradient(GetParam(), 0), cached = gradient(GetParam(), 20);
  ASSERT_EQ(whole.size(), cached.size());
  double squares = 0, difference = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    squares += whole[i] * whole[i];
    difference += (whole[i] - cached[i]) * (whole[i] - cached[i]);
  }
  EXPECT_GT(squares, 0);
  EXPECT_LE(std::sqrt(difference), 1e-6 * std::sqrt(squares));
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) names.emplace_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryLoss, GradientCacheOf, ::testing::ValuesIn(loss_names()),
                         [](const auto& info) { return info.param; });

using ::testing::ElementsAre;

std::vector<std::vector<int32_t>> texts_of_lengths(const std::vector<size_t>& lengths) {
  std::vector<std::vector<int32_t>> texts;
  for (const size_t length : lengths) texts.emplace_back(length, 1);
  return texts;
}

TEST(TextShares, HaveAboutAsManyTokensEach) {
  const auto texts = texts_of_lengths({1, 1, 1, 1, 4, 2, 2, 4});
  EXPECT_THAT(cut_shares(texts, {0, 1, 2, 3, 4, 5, 6, 7}, 4), ElementsAre(0, 4, 5, 7, 8));
  EXPECT_THAT(cut_shares(texts, {0, 1, 2, 3}, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(cut_shares(texts, {7, 0, 0, 0, 0}, 2), ElementsAre(0, 1, 5));
  EXPECT_THAT(cut_shares(texts, {0, 1, 2}, 1), ElementsAre(0, 3));
}

TEST(TextShares, MayBeEmpty) {
  const auto texts = texts_of_lengths({5, 3, 0});
  EXPECT_THAT(cut_shares(texts, {}, 2), ElementsAre(0, 0, 0));
  const auto bounds = cut_shares(texts, {0}, 3);
  EXPECT_EQ(bounds.front(), 0);
  EXPECT_EQ(bounds.back(), 1);
  EXPECT_EQ(bounds.size(), 4u);
  EXPECT_EQ(cut_shares(texts, {2, 2}, 2).back(), 2);  // of no tokens at all
}

TEST(TextShares, CoverTheBatchInOrderAndDifferByNoMoreThanATextOfEach) {
  RandomStream random(7, "shares", 0);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<size_t> lengths;
    std::vector<int32_t> which;
    size_t total = 0;
    for (int32_t i = 0; i < 97; ++i) {
      lengths.push_back(1 + random.below(30));
      total += lengths.back();
      which.push_back(i);
    }
    const auto texts = texts_of_lengths(lengths);
    for (const int64_t ranks : {2, 3, 8, 64}) {
      const auto bounds = cut_shares(texts, which, ranks);
      ASSERT_EQ(bounds.size(), static_cast<size_t>(ranks) + 1);
      EXPECT_EQ(bounds.back(), 97);
      for (int64_t r = 0; r < ranks; ++r) {
        ASSERT_LE(bounds[r], bounds[r + 1]);
        size_t tokens = 0;
        for (int64_t i = bounds[r]; i < bounds[r + 1]; ++i) tokens += lengths[i];
        EXPECT_LE(tokens, total / ranks + 31);
      }
    }
  }
}

}  // namespace
}  // namespace simile
