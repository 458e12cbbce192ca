// SPDX-License-Identifier: Apache-2.0
#include "simile/text/post_processor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {
namespace {

TEST(PostProcessor, LongestFirstTruncationKeepsTheShorterText) {
  const struct {
    int64_t first, second, limit, kept_first, kept_second;
  } cases[] = {
      {3, 4, 7, 3, 4},   {3, 4, 100, 3, 4}, {3, 10, 8, 3, 5},  {10, 3, 8, 5, 3}, {10, 10, 8, 4, 4},
      {10, 10, 9, 4, 5}, {11, 10, 9, 5, 4}, {10, 11, 9, 4, 5}, {0, 10, 4, 0, 4}, {10, 0, 4, 4, 0},
      {4, 10, 8, 4, 4},  {5, 10, 8, 4, 4},  {2, 2, 1, 0, 1},
  };
  for (const auto& item : cases) {
    const PairLengths kept = truncate_longest_first(item.first, item.second, item.limit);
    EXPECT_EQ(kept.first, item.kept_first) << item.first << " " << item.second << " " << item.limit;
    EXPECT_EQ(kept.second, item.kept_second);
  }
}

TEST(PostProcessor, TruncationNeverGoesOverTheLimitNorWastesIt) {
  for (int64_t first = 0; first < 20; ++first) {
    for (int64_t second = 0; second < 20; ++second) {
      for (int64_t limit = 0; limit < 25; ++limit) {
        const PairLengths kept = truncate_longest_first(first, second, limit);
        ASSERT_LE(kept.first, first);
        ASSERT_LE(kept.second, second);
        ASSERT_EQ(kept.first + kept.second, std::min(first + second, limit));
      }
    }
  }
}

TEST(PostProcessor, StrategiesCutTheTextTheyName) {
  using Strategy = TruncationSettings::Strategy;
  const struct {
    Strategy strategy;
    int64_t first, second;
    bool pair;
    int64_t limit, kept_first, kept_second;
  } cases[] = {
      {Strategy::kOnlyFirst, 10, 3, true, 8, 5, 3},
      {Strategy::kOnlySecond, 3, 10, true, 8, 3, 5},
      {Strategy::kOnlySecond, 3, 2, true, 8, 3, 2},
      {Strategy::kOnlyFirst, 10, 0, false, 8, 8, 0},
      {Strategy::kOnlySecond, 8, 0, false, 8, 8, 0},
      {Strategy::kLongestFirst, 10, 0, false, 8, 8, 0},
      {Strategy::kLongestFirst, 10, 9, true, 7, 4, 3},
  };
  for (const auto& item : cases) {
    TruncationSettings settings;

    settings.strategy = item.strategy;
    const PairLengths kept = truncate(item.first, item.second, item.pair, item.limit, settings);
    EXPECT_EQ(kept.first, item.kept_first) << item.first << " " << item.second;
    EXPECT_EQ(kept.second, item.kept_second) << item.first << " " << item.second;
  }
}

TEST(PostProcessor, TextThatCannotBeCutEnoughIsAnError) {
  TruncationSettings settings;
  settings.strategy = TruncationSettings::Strategy::kOnlyFirst;
  EXPECT_THROW(truncate(3, 10, true, 8, settings), Error);
  settings.strategy = TruncationSettings::Strategy::kOnlySecond;
  EXPECT_THROW(truncate(10, 3, true, 8, settings), Error);
  EXPECT_THROW(truncate(10, 0, false, 8, settings), Error);
}

}  // namespace
}  // namespace simile
