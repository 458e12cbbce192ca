// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mixing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {
namespace {

using Turns = std::vector<int32_t>;

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
    EXPECT_EQ(mix_batches(c.batches, options(c.mixing, c.ends), 1, 0), c.turns)
        << c.mixing << " " << c.ends << " of " << c.batches.size();
  }
}

TEST(MixBatches, ProportionalIsAShuffleDecidedBySeedAndEpoch) {
  const std::vector<int64_t> batches = {30, 10, 20};
  const MixingOptions proportional = options("proportional");
  const Turns turns = mix_batches(batches, proportional, 1, 0);
  EXPECT_EQ(turns, mix_batches(batches, proportional, 1, 0));
  EXPECT_NE(turns, mix_batches(batches, proportional, 1, 1));
  EXPECT_NE(turns, mix_batches(batches, proportional, 2, 0));
  Turns sorted = turns;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, mix_batches(batches, options("sequential"), 1, 0));
}

TEST(MixBatches, ProportionalSpreadsEveryDataSetOverTheEpoch) {
  constexpr int64_t kBatches = 1000;
  const Turns turns = mix_batches({3 * kBatches, kBatches}, options("proportional"), 7, 0);
  for (int64_t quarter = 0; quarter < 4; ++quarter) {
    const auto begin = turns.begin() + quarter * kBatches;
    // A quarter of 250 expected; its standard deviation is about 12.
    EXPECT_NEAR(static_cast<double>(std::count(begin, begin + kBatches, 1)), 250.0, 60.0);
  }
}

TEST(MixBatches, RefusesADataSetWithoutBatches) {
  for (const std::string mixing : {"round_robin", "proportional", "sequential"}) {
    EXPECT_THROW(mix_batches({2, 0}, options(mixing), 1, 0), Error) << mixing;
  }
}

}  // namespace
}  // namespace simile
