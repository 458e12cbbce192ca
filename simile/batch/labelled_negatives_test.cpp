// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/labelled_negatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/core/random.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
