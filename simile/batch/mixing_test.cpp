// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mixing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {
namespace {

using Turns = std::vector<int32_t>;

Turns mix(const std::vector<int64_t>& batches, const MixingOptions& options, uint64_t seed,
          uint64_t epoch, std::vector<double> shares = {}) {
  shares.resize(batches.size(), 1);
  return mix_batches(batches, shares, options, seed, epoch);
}

std::vector<int64_t> counts(const Turns& turns, int32_t sets) {
  std::vector<int64_t> counts;
  for (int32_t set = 0; set < sets; ++set) {
    counts.push_back(std::count(turns.begin(), turns.end(), set));
  }
  return counts;
}

MixingOptions options(const std::string& mixing, const std::string& ends = "longest") {
  MixingOptions options;
  options.mixing = mixing;
  options.mixing_ends = ends;
  return options;
}

TEST(MixBatches, FollowsTheTable) {
  struct Case {
    std::vector<int64_t> batches;
    std::string mixing, ends;
    Turns turns;
  };
  const std::vector<Case> cases = {
      {{2, 2}, "round_robin", "longest", {0, 1, 0, 1}},
      {{3, 1}, "round_robin", "longest", {0, 1, 0, 1, 0, 1}},
      {{3, 1}, "round_robin", "shortest", {0, 1}},
      {{1, 3, 2}, "round_robin", "longest", {0, 1, 2, 0, 1, 2, 0, 1, 2}},
      {{2, 3, 4}, "round_robin", "shortest", {0, 1, 2, 0, 1, 2}},
      {{2, 1, 3}, "sequential", "longest", {0, 0, 1, 2, 2, 2}},
      {{3}, "round_robin", "longest", {0, 0, 0}},
      {{3}, "round_robin", "shortest", {0, 0, 0}},
      {{3}, "proportional", "longest", {0, 0, 0}},
      {{3}, "sequential", "longest", {0, 0, 0}},
      {{}, "proportional", "longest", {}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(mix(c.batches, options(c.mixing, c.ends), 1, 0), c.turns)
        << c.mixing << " " << c.ends << " of " << c.batches.size();
  }
}

TEST(MixBatches, ProportionalIsAShuffleDecidedBySeedAndEpoch) {
  const std::vector<int64_t> batches = {30, 10, 20};
  const MixingOptions proportional = options("proportional");
  const Turns turns = mix(batches, proportional, 1, 0);
  EXPECT_EQ(turns, mix(batches, proportional, 1, 0));
  EXPECT_NE(turns, mix(batches, proportional, 1, 1));
  EXPECT_NE(turns, mix(batches, proportional, 2, 0));
  Turns sorted = turns;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, mix(batches, options("sequential"), 1, 0));
}

TEST(MixBatches, ProportionalSpreadsEveryDataSetOverTheEpoch) {
  constexpr int64_t kBatches = 1000;
  const Turns turns = mix({3 * kBatches, kBatches}, options("proportional"), 7, 0);
  for (int64_t quarter = 0; quarter < 4; ++quarter) {
    const auto begin = turns.begin() + quarter * kBatches;
    // A quarter of 250 expected; its standard deviation is about 12.
    EXPECT_NEAR(static_cast<double>(std::count(begin, begin + kBatches, 1)), 250.0, 60.0);
  }
}

TEST(MixBatches, SharesDecideHowManyTurnsEachHas) {
  struct Case {
    std::vector<int64_t> batches;
    std::vector<double> shares;
    std::vector<int64_t> counts;
  };
  const std::vector<Case> cases = {
      {{8, 2}, {1, 1}, {5, 5}},
      {{90, 5, 5}, {2, 0.5, 0}, {80, 20, 0}},
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{4, 1}, {1, 1}, {3, 2}},           // 2.5 each
      {{4, 3, 3}, {1, 1, 1}, {4, 3, 3}},  // 3.33 each
      {{1, 2, 7}, {7, 2, 2}, {6, 2, 2}},  // 6.36, 1.82, 1.82
      {{5}, {0.3}, {5}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(counts(mix(c.batches, options("shares"), 1, 0, c.shares),
                     static_cast<int32_t>(c.batches.size())),
              c.counts);
  }
}

TEST(MixBatches, SharesAreAShuffleDecidedBySeedAndEpoch) {
  const std::vector<int64_t> batches = {30, 10, 20};
  const MixingOptions by_shares = options("shares");
  const Turns turns = mix(batches, by_shares, 1, 0, {1, 2, 3});
  EXPECT_EQ(counts(turns, 3), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(turns, mix(batches, by_shares, 1, 0, {1, 2, 3}));
  EXPECT_NE(turns, mix(batches, by_shares, 1, 1, {1, 2, 3}));
  EXPECT_NE(turns, mix(batches, by_shares, 2, 0, {1, 2, 3}));
  EXPECT_EQ(turns, mix(batches, by_shares, 1, 0, {0.5, 1, 1.5}));
  EXPECT_FALSE(std::is_sorted(turns.begin(), turns.end()));
}

TEST(MixBatches, SharesThatMakeNoSenseAreRefused) {
  EXPECT_THROW(mix({2, 2}, options("shares"), 1, 0, {1, -1}), Error);
  EXPECT_THROW(mix({2, 2}, options("shares"), 1, 0, {0, 0}), Error);
}

TEST(MixBatches, RefusesADataSetWithoutBatches) {
  for (const std::string mixing : {"round_robin", "proportional", "sequential", "shares"}) {
    EXPECT_THROW(mix({2, 0}, options(mixing), 1, 0), Error) << mixing;
  }
}

}  // namespace
}  // namespace simile
