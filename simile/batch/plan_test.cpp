// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "simile/batch/order_table.h"

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

// Of stored neighbours, the rows asked for.
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

}  // namespace
}  // namespace simile
