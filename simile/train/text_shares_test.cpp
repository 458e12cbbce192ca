// SPDX-License-Identifier: Apache-2.0
#include "simile/train/text_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/random.h"

namespace simile {
namespace {

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
