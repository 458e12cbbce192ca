// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "simile/batch/order_table.h"
#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

// Points on a line at 0, 1, 2, ...: each example's neighbours by distance, lower first.
Matrix<int32_t> neighbours_on_a_line(int n) {
  Matrix<int32_t> out(n, n - 1);
  for (int i = 0; i < n; ++i) {
    std::vector<int32_t> others;
    for (int j = 0; j < n; ++j) {
      if (j != i) others.push_back(j);
    }
    std::stable_sort(others.begin(), others.end(),
                     [i](int a, int b) { return std::abs(a - i) < std::abs(b - i); });
    std::copy(others.begin(), others.end(), out.row(i));
  }
  return out;
}

// Looks up the requested rows of stored neighbours.
ExampleOrder order_by(const Matrix<int32_t>& neighbours, const TextColumns& text_ids,
                      const OrderOptions& options, uint64_t seed, uint64_t epoch) {
  const auto find = [&neighbours](const std::vector<int32_t>& examples) {
    Matrix<int32_t> rows(static_cast<int64_t>(examples.size()), neighbours.cols);
    for (size_t i = 0; i < examples.size(); ++i) {
      std::copy_n(neighbours.row(examples[i]), rows.cols, rows.row(static_cast<int64_t>(i)));
    }
    return rows;
  };
  return order_neighbours(neighbours.rows, find, text_ids, options, seed, epoch);
}

std::vector<int32_t> distinct_ids(int n) {
  std::vector<int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i);
  return ids;
}

void expect_permutation(ExampleOrder order, int n) {
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, order_sequential(n));
}

TEST(OrderRandom, IsAPermutationDecidedBySeedAndEpoch) {
  const ExampleOrder order = order_random(50, 1, 0);
  expect_permutation(order, 50);
  EXPECT_EQ(order, order_random(50, 1, 0));
  EXPECT_NE(order, order_random(50, 1, 1));
  EXPECT_NE(order, order_random(50, 2, 0));
}

TEST(OrderNeighbours, GroupsAreANewExampleWithItsNearestUnusedOnes) {
  OrderOptions options;
  options.group_size = 3;
  const int n = 30;
  const ExampleOrder order = order_by(neighbours_on_a_line(n), {distinct_ids(n)}, options, 4, 0);
  expect_permutation(order, n);
  // Replays Algorithm 1 from its own text: with all neighbours listed no group is short but the
  // last.
  std::set<int> used;
  std::vector<int32_t> expected;
  for (const int32_t start : order_random(n, 4, 0)) {
    if (used.count(start)) continue;
    std::vector<int32_t> nearest;
    for (int distance = 1; distance < n && nearest.size() < 2; ++distance) {
      for (const int j : {start - distance, start + distance}) {
        if (j >= 0 && j < n && !used.count(j) && nearest.size() < 2) nearest.push_back(j);
      }
    }
    expected.push_back(start);
    expected.insert(expected.end(), nearest.begin(), nearest.end());
    used.insert(start);
    used.insert(nearest.begin(), nearest.end());
  }
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(order, expected);
}

TEST(OrderNeighbours, AsksForHardlyMoreThanTheExamplesThatStartAGroup) {
  const int n = 4000;
  int64_t asked = 0;
  const auto find = [&](const std::vector<int32_t>& examples) {
    asked += static_cast<int64_t>(examples.size());
    Matrix<int32_t> rows(static_cast<int64_t>(examples.size()), 40);
    for (size_t i = 0; i < examples.size(); ++i) {
      for (int j = 0; j < 40; ++j) {
        const int32_t other = examples[i] + (j % 2 == 0 ? 1 + j / 2 : -1 - j / 2);
        rows.at(static_cast<int64_t>(i), j) = other < n ? other : -1;
      }
    }
    return rows;
  };
  OrderOptions options;
  expect_permutation(order_neighbours(n, find, {distinct_ids(n)}, options, 1, 0), n);
  EXPECT_LT(asked, n / 4);
}

TEST(OrderNeighbours, RefusesEqualTextsInAGroupUnlessAllowed) {
  // Examples 2k and 2k + 1 have the same left text and are each other's nearest.
  const int n = 8;
  const std::vector<int32_t> left = {0, 0, 1, 1, 2, 2, 3, 3};
  Matrix<int32_t> pairs(n, 1);
  for (int i = 0; i < n; ++i) pairs.at(i, 0) = i ^ 1;
  OrderOptions options;
  options.group_size = 2;
  EXPECT_EQ(order_by(pairs, {left}, options, 1, 0), [&] {
    ExampleOrder alone = order_random(n, 1, 0);
    std::reverse(alone.begin(), alone.end());
    return alone;
  }());
  options.allow_same = true;
  const ExampleOrder order = order_by(pairs, {left}, options, 1, 0);
  for (int i = 0; i < n; i += 2)
    EXPECT_EQ(order[static_cast<size_t>(i)] ^ 1, order[static_cast<size_t>(i) + 1]);
}

TEST(OrderNeighbours, LeftoverSinglesComeFirst) {
  OrderOptions options;
  options.group_size = 4;
  Matrix<int32_t> few(5, 2);  // everyone's neighbours are 0 and 1
  for (int i = 0; i < 5; ++i) {
    few.at(i, 0) = 0;
    few.at(i, 1) = 1;
  }
  const ExampleOrder order = order_by(few, {}, options, 9, 0);
  expect_permutation(order, 5);
  const ExampleOrder walk = order_random(5, 9, 0);
  EXPECT_EQ(order.back(), walk.front());
}

TEST(OrderNeighbours, IsReversedUnlessToldOtherwise) {
  OrderOptions options;
  const int n = 20;
  const auto order = [&] {
    return order_by(neighbours_on_a_line(n), {distinct_ids(n)}, options, 4, 2);
  };
  ExampleOrder reversed = order();
  options.reverse = false;
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(order(), reversed);
  EXPECT_EQ(order()[0], order_random(n, 4, 2)[0]);
}

TEST(OrderLengthBucketed, RunsOfAPoolHaveTheLengthsOfItsSortedExamples) {
  std::vector<int64_t> lengths;
  for (int i = 0; i < 103; ++i) lengths.push_back((i * 37) % 50);
  const ExampleOrder order = order_length_bucketed(lengths, 10, 64, 3, 0);  // one pool
  expect_permutation(order, 103);
  const ExampleOrder walk = order_random(103, 3, 0);
  std::vector<int64_t> sorted;
  for (size_t i = 0; i < 100; ++i) sorted.push_back(lengths[static_cast<size_t>(walk[i])]);
  std::sort(sorted.begin(), sorted.end());
  std::set<std::vector<int64_t>> expected, found;
  const Batches batches = cut_batches(order, 10);
  for (size_t run = 0; run < 10; ++run) {
    expected.emplace(sorted.begin() + static_cast<int64_t>(10 * run),
                     sorted.begin() + static_cast<int64_t>(10 * run + 10));
    std::vector<int64_t> own;
    for (const int32_t example : batches[run]) own.push_back(lengths[static_cast<size_t>(example)]);
    found.insert(own);
  }
  EXPECT_EQ(found, expected);
  EXPECT_THAT(batches[10], ElementsAre(walk[100], walk[101], walk[102]));
}

TEST(OrderLengthBucketed, IsDecidedBySeedAndEpochAndFitsAnySize) {
  const std::vector<int64_t> equal(50, 9);
  EXPECT_EQ(order_length_bucketed(equal, 8, 2, 1, 0), order_length_bucketed(equal, 8, 2, 1, 0));
  EXPECT_NE(order_length_bucketed(equal, 8, 2, 1, 0), order_length_bucketed(equal, 8, 2, 1, 1));
  EXPECT_NE(order_length_bucketed(equal, 8, 2, 1, 0), order_length_bucketed(equal, 8, 2, 2, 0));
  for (const int64_t batch_size : {1, 8, 50, 1000}) {
    expect_permutation(order_length_bucketed(equal, batch_size, 2, 1, 0), 50);
  }
  EXPECT_THAT(order_length_bucketed({4}, 8, 64, 1, 0), ElementsAre(0));
  EXPECT_TRUE(order_length_bucketed({}, 8, 64, 1, 0).empty());
}

TEST(OrderLengthBucketed, ASmallPoolMixesLengthsMore) {
  std::vector<int64_t> lengths(400);
  std::iota(lengths.begin(), lengths.end(), 0);
  const auto spread = [&](int64_t pool) {
    int64_t sum = 0;
    for (auto batch : cut_batches(order_length_bucketed(lengths, 20, pool, 1, 0), 20)) {
      std::sort(batch.begin(), batch.end());
      sum += batch.back() - batch.front();
    }
    return sum;
  };
  EXPECT_EQ(spread(20), 20 * 19);
  EXPECT_GT(spread(2), 4 * spread(20));
}

TEST(CutBatches, TakesGivenSizesAndIsUndone) {
  const Batches batches = cut_batches({5, 3, 1, 0}, std::vector<int32_t>{1, 3});
  EXPECT_THAT(batches, ElementsAre(ElementsAre(5), ElementsAre(3, 1, 0)));
  EXPECT_THAT(join_batches(batches), ElementsAre(5, 3, 1, 0));
  EXPECT_THAT(batch_sizes(batches), ElementsAre(1, 3));
}

TEST(CutBatches, KeepsOrderAndTheShortRest) {
  EXPECT_THAT(cut_batches({4, 3, 2, 1, 0}, 2),
              ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1), ElementsAre(0)));
  EXPECT_TRUE(cut_batches({}, 3).empty());
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LabelledNegatives, AreThoseWhoseLeftTextHasAPositivePair) {
  //                                     +  -  -  +  -  +
  const LabelledNegatives found = find_labelled_negatives({0, 0, 1, 2, 2, 2}, {1, 0, 0, 1, 0, 1});
  EXPECT_THAT(found.placed, ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(found.of, ElementsAre(ElementsAre(1), IsEmpty(), ElementsAre(4)));
  EXPECT_EQ(found.attached(), 2);
}

TEST(LabelledNegatives, CountIsOfThePairsThatCanBeUsed) {
  // Anchor 0: one positive, three attached; anchor 1: two positives, three attached.
  const LabelledNegatives found =
      find_labelled_negatives({0, 0, 0, 0, 1, 1, 1, 1, 1}, {1, 0, 0, 0, 1, 1, 0, 0, 0});
  EXPECT_EQ(count_filled_batches(found, 1, 3), 2);  // 3 + 1 + 2 pairs
  EXPECT_EQ(count_filled_batches(found, 2, 3), 3);  // 3 + 2 + 3
  EXPECT_EQ(count_filled_batches(found, 9, 2), 3);  // no more batches than placed pairs
  EXPECT_EQ(count_filled_batches(found, 9, 100), 1);
}

TEST(LabelledNegatives, FillTheRoomOfABatchInTurns) {
  // Anchors 0 and 1 with a positive each and three attached ones.
  const LabelledNegatives found =
      find_labelled_negatives({0, 1, 0, 0, 0, 1, 1, 1}, {1, 1, 0, 0, 0, 0, 0, 0});
  const FilledBatches filled = fill_batches(found, {1, 0}, 2, 5, 3, 0);
  ASSERT_EQ(filled.batches.size(), 2u);  // 2 + 4 pairs in batches of 5
  EXPECT_EQ(filled.left_out, 2);
  for (size_t i = 0; i < 2; ++i) {
    const auto& batch = filled.batches[i];
    ASSERT_EQ(batch.size(), 3u);
    EXPECT_EQ(batch[0], static_cast<int32_t>(1 - i));
    for (const size_t j : {1, 2}) {
      EXPECT_EQ(found.anchor[static_cast<size_t>(batch[j])], static_cast<int32_t>(1 - i));
    }
  }
  const FilledBatches one = fill_batches(found, {1, 0}, 2, 6, 3, 0);
  ASSERT_EQ(one.batches.size(), 1u);
  std::vector<int32_t> anchors;
  for (const int32_t example : one.batches[0]) {
    anchors.push_back(found.anchor[static_cast<size_t>(example)]);
  }
  EXPECT_THAT(anchors, ElementsAre(1, 0, 1, 0, 1, 0));
}

// Anchors with random numbers of positive and of attached pairs, and single ones.
LabelledNegatives random_data(uint64_t seed) {
  RandomStream stream(seed, "labelled data");
  std::vector<int32_t> anchor;
  std::vector<char> is_positive;
  for (int32_t text = 0; text < 120; ++text) {
    const uint64_t pairs = 1 + stream.below(8);
    for (uint64_t i = 0; i < pairs; ++i) {
      anchor.push_back(text);
      is_positive.push_back(stream.below(3) == 0 ? 1 : 0);
    }
  }
  return find_labelled_negatives(anchor, is_positive);
}

TEST(LabelledNegatives, KeepTheRulesWhateverTheData) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const LabelledNegatives data = random_data(seed);
    for (const int64_t batch_size : {1, 2, 7, 32, 10000}) {
      for (const int64_t most : {1, 3, 100}) {
        ExampleOrder order = data.placed;
        RandomStream stream(seed, "test");
        shuffle(order, stream);
        const FilledBatches filled = fill_batches(data, order, most, batch_size, seed, 0);
        EXPECT_EQ(static_cast<int64_t>(filled.batches.size()),
                  count_filled_batches(data, most, batch_size));
        std::set<int32_t> used;
        ExampleOrder placed;
        int64_t attached = 0;
        for (const auto& batch : filled.batches) {
          EXPECT_FALSE(batch.empty());
          EXPECT_LE(static_cast<int64_t>(batch.size()), batch_size);
          std::set<int32_t> positives;
          std::map<int32_t, int64_t> given;
          for (const int32_t example : batch) {
            const auto i = static_cast<size_t>(example);
            EXPECT_TRUE(used.insert(example).second);
            if (std::binary_search(data.placed.begin(), data.placed.end(), example)) {
              placed.push_back(example);
              if (data.is_positive[i]) positives.insert(data.anchor[i]);
            } else {
              ++attached;
              EXPECT_EQ(positives.count(data.anchor[i]), 1u) << "without its anchor";
              EXPECT_LE(++given[data.anchor[i]], most);
            }
          }
        }
        EXPECT_EQ(placed, order);
        EXPECT_EQ(attached + filled.left_out, data.attached());
        EXPECT_EQ(filled.batches, fill_batches(data, order, most, batch_size, seed, 0).batches);
      }
    }
  }
}

TEST(LabelledNegatives, ThoseLeftOutChangeFromEpochToEpoch) {
  const LabelledNegatives found =
      find_labelled_negatives({0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 0, 0});
  std::set<int32_t> used;
  for (uint64_t epoch = 0; epoch < 50; ++epoch) {
    const FilledBatches filled = fill_batches(found, {0}, 2, 4, 1, epoch);
    EXPECT_EQ(filled.left_out, 6);
    used.insert(filled.batches[0].begin(), filled.batches[0].end());
  }
  EXPECT_EQ(used.size(), 9u);
}

TEST(LabelledNegatives, DataWithoutAnyIsCutAsItIs) {
  const LabelledNegatives found = find_labelled_negatives({0, 1, 2, 3, 4}, {1, 1, 1, 1, 0});
  const FilledBatches filled = fill_batches(found, {4, 3, 2, 1, 0}, 3, 2, 1, 0);
  EXPECT_THAT(filled.batches, ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1), ElementsAre(0)));
  EXPECT_EQ(filled.left_out, 0);
}

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
