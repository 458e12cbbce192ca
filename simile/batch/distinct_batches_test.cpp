// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "simile/batch/plan.h"
#include "simile/core/random.h"

namespace simile {
namespace {

int64_t examples_of(const TextColumns& texts) { return static_cast<int64_t>(texts[0].size()); }

// Checks what the header promises for every epoch.
void expect_good_plan(const TextColumns& texts, int64_t batch_size, int64_t count,
                      const Batches& batches) {
  EXPECT_EQ(static_cast<int64_t>(batches.size()), count);
  for (const auto& batch : batches) {
    EXPECT_LE(static_cast<int64_t>(batch.size()), batch_size);
    EXPECT_FALSE(batch.empty());
    std::set<int32_t> seen;
    for (const int32_t example : batch) {
      std::set<int32_t> own;
      for (const auto& column : texts) own.insert(column[static_cast<size_t>(example)]);
      for (const int32_t text : own) {
        EXPECT_TRUE(seen.insert(text).second) << "text " << text << " stands twice in a batch";
      }
    }
  }
  ExampleOrder order = join_batches(batches);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, order_sequential(examples_of(texts)));
}

int64_t expect_good_plans(const TextColumns& texts, int64_t batch_size, uint64_t epochs = 3) {
  const int64_t count = count_distinct_batches(texts, batch_size);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    expect_good_plan(texts, batch_size, count,
                     plan_distinct_batches(texts, batch_size, count, 7, epoch));
  }
  return count;
}

// Texts drawn with the frequencies of natural data: few very often, most once or twice.
TextColumns skewed_texts(size_t examples, size_t columns, uint64_t seed) {
  RandomStream stream(seed, "skewed texts");
  TextColumns texts(columns);
  for (auto& column : texts) {
    for (size_t i = 0; i < examples; ++i) {
      const double u = stream.uniform();
      column.push_back(static_cast<int32_t>(static_cast<double>(examples) * u * u * u));
    }
  }
  return texts;
}

TEST(DistinctBatches, WithoutRepeatedTextsAreTheFewestAndOfEvenSize) {
  std::vector<int32_t> left(100), right(100);
  std::iota(left.begin(), left.end(), 0);
  std::iota(right.begin(), right.end(), 100);
  EXPECT_EQ(expect_good_plans({left, right}, 30), 4);
  for (const auto& batch : plan_distinct_batches({left, right}, 30, 4, 1, 0)) {
    EXPECT_EQ(batch.size(), 25u);
  }
}

TEST(DistinctBatches, AsManyAsTheMostFrequentTextOccurs) {
  EXPECT_EQ(expect_good_plans({{0, 0, 0, 0, 1, 2, 3, 4}}, 4), 4);
  EXPECT_EQ(expect_good_plans({std::vector<int32_t>(50, 3)}, 8), 50);  // all texts equal
  // The same text left, right and as a negative.
  EXPECT_EQ(expect_good_plans({{0, 1, 2}, {3, 0, 4}, {5, 6, 0}}, 8), 3);
}

TEST(DistinctBatches, AnExampleMayHoldATextTwiceItself) {
  EXPECT_EQ(expect_good_plans({{0, 1, 2}, {0, 1, 2}}, 3), 1);
}

TEST(DistinctBatches, MoreThanTheLeastWhereThatCannotBe) {
  // Three texts, each pair of which is an example: no two fit together, though each occurs twice.
  EXPECT_EQ(expect_good_plans({{0, 1, 2}, {1, 2, 0}}, 3), 3);
}

TEST(DistinctBatches, KeepTheRulesOnSkewedTexts) {
  for (const size_t columns : {1, 2, 3}) {
    for (const int64_t batch_size : {1, 2, 7, 64, 5000}) {
      const TextColumns texts = skewed_texts(1200, columns, columns);
      const int64_t count = expect_good_plans(texts, batch_size, 2);
      EXPECT_GE(count, (1200 + batch_size - 1) / batch_size);
    }
  }
}

TEST(DistinctBatches, AllPairsOfTwoSidesKeepTheCountInEveryEpoch) {
  // 12 lefts with 12 rights in batches of 12: an epoch is a Latin square, and hardly any random
  // placement finds one, so that epochs fall back on the one that decided the count.
  TextColumns texts(2);
  for (int32_t i = 0; i < 12; ++i) {
    for (int32_t j = 0; j < 12; ++j) {
      texts[0].push_back(i);
      texts[1].push_back(12 + j);
    }
  }
  const int64_t count = expect_good_plans(texts, 12, 20);
  EXPECT_GE(count, 12);
  EXPECT_LE(count, 23);  // 2 · 11 batches can be barred, or 11 be full
}

TEST(DistinctBatches, AreDecidedBySeedAndEpoch) {
  const TextColumns texts = skewed_texts(300, 2, 5);
  const int64_t count = count_distinct_batches(texts, 16);
  const Batches plan = plan_distinct_batches(texts, 16, count, 1, 0);
  EXPECT_EQ(plan, plan_distinct_batches(texts, 16, count, 1, 0));
  EXPECT_NE(plan, plan_distinct_batches(texts, 16, count, 1, 1));
  EXPECT_NE(plan, plan_distinct_batches(texts, 16, count, 2, 0));
}

TEST(DistinctBatches, OfOneExampleAndOfNone) {
  EXPECT_EQ(expect_good_plans({{0}, {1}}, 1000000), 1);
  EXPECT_EQ(count_distinct_batches({{}, {}}, 4), 0);
  EXPECT_TRUE(plan_distinct_batches({{}, {}}, 4, 0, 1, 0).empty());
}

}  // namespace
}  // namespace simile
