// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  const ExampleOrder order =
      order_neighbours(neighbours_on_a_line(n), {distinct_ids(n)}, options, 4, 0);
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

TEST(OrderNeighbours, RefusesEqualTextsInAGroupUnlessAllowed) {
  // Examples 2k and 2k + 1 have the same left text and are each other's nearest.
  const int n = 8;
  const std::vector<int32_t> left = {0, 0, 1, 1, 2, 2, 3, 3};
  Matrix<int32_t> pairs(n, 1);
  for (int i = 0; i < n; ++i) pairs.at(i, 0) = i ^ 1;
  OrderOptions options;
  options.group_size = 2;
  EXPECT_EQ(order_neighbours(pairs, {left}, options, 1, 0), [&] {
    ExampleOrder alone = order_random(n, 1, 0);
    std::reverse(alone.begin(), alone.end());
    return alone;
  }());
  options.allow_same = true;
  const ExampleOrder order = order_neighbours(pairs, {left}, options, 1, 0);
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
  const ExampleOrder order = order_neighbours(few, {}, options, 9, 0);
  expect_permutation(order, 5);
  const ExampleOrder walk = order_random(5, 9, 0);
  EXPECT_EQ(order.back(), walk.front());
}

TEST(CutBatches, KeepsOrderAndTheShortRest) {
  EXPECT_THAT(cut_batches({4, 3, 2, 1, 0}, 2),
              ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1), ElementsAre(0)));
  EXPECT_TRUE(cut_batches({}, 3).empty());
}

}  // namespace
}  // namespace simile
