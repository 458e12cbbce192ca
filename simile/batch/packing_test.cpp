// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "simile/core/error.h"

namespace simile {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PackTexts, StandOneAfterTheOtherInTheOrderAskedFor) {
  const PackedBatch batch = pack_texts({{2, 9, 3}, {2, 3}}, {}, {1, 0, 1});
  EXPECT_THAT(batch.ids, ElementsAre(2, 3, 2, 9, 3, 2, 3));
  EXPECT_THAT(batch.offsets, ElementsAre(0, 2, 5, 7));
  EXPECT_THAT(batch.type_ids, IsEmpty());
}

TEST(PackTexts, TheSecondTextOfAJointSequenceHasTypeOne) {
  const PackedBatch batch = pack_texts({{2, 9, 3, 8, 3}, {2, 9, 3}}, {3, 3}, {1, 0});
  EXPECT_THAT(batch.type_ids, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(PackTexts, OfNothingIsAnEmptyBatch) { EXPECT_EQ(pack_texts({{2, 3}}, {}, {}).size(), 0); }

constexpr int32_t kCls = 0, kSep = 1, kMask = 2, kFirstWord = 3;

// Words 3 .. 102; odd ids continue the word before.
MaskVocabulary small_vocabulary() {
  MaskVocabulary vocabulary;
  vocabulary.mask = kMask;
  for (int32_t id = 0; id < 103; ++id) {
    vocabulary.is_special.push_back(id < kFirstWord ? 1 : 0);
    vocabulary.is_continuation.push_back(id >= kFirstWord && id % 2 == 1 ? 1 : 0);
    if (id >= kFirstWord) vocabulary.ordinary.push_back(id);
  }
  return vocabulary;
}

// `sequences` times [CLS] 4 5 6 8 9 11 10 [SEP]: the words {4 5}, {6}, {8 9 11}, {10}.
PackedBatch batch_of(int sequences) {
  PackedBatch batch;
  batch.offsets.push_back(0);
  for (int i = 0; i < sequences; ++i) {
    for (const int32_t id : {kCls, 4, 5, 6, 8, 9, 11, 10, kSep}) batch.ids.push_back(id);
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

TEST(Masking, ChoosesWholeWordsAndTheSharesAskedFor) {
  const PackedBatch before = batch_of(4000);
  PackedBatch batch = before;
  const MaskedTokens masked = mask_words({}, small_vocabulary(), 1, 0, batch);
  const double tokens = 4000 * 7;
  EXPECT_NEAR(masked.size() / tokens, 0.15, 0.01);
  int64_t shown_as_mask = 0, same = 0;
  std::set<int32_t> chosen(masked.positions.begin(), masked.positions.end());
  for (int64_t i = 0; i < masked.size(); ++i) {
    const auto place = static_cast<size_t>(masked.positions[static_cast<size_t>(i)]);
    EXPECT_EQ(masked.words[static_cast<size_t>(i)], before.ids[place]);
    EXPECT_GE(before.ids[place], kFirstWord);
    shown_as_mask += batch.ids[place] == kMask ? 1 : 0;
    same += batch.ids[place] == before.ids[place] ? 1 : 0;
  }
  const auto count = static_cast<double>(masked.size());
  EXPECT_NEAR(shown_as_mask / count, 0.8, 0.02);
  EXPECT_NEAR(same / count, 0.101, 0.02);  // a random token may be the same
  for (int32_t i = 0; i < 4000; ++i) {
    const int32_t begin = i * 9;
    EXPECT_EQ(chosen.count(begin + 1), chosen.count(begin + 2));
    EXPECT_EQ(chosen.count(begin + 4), chosen.count(begin + 6));
    EXPECT_EQ(chosen.count(begin), 0u);
    EXPECT_EQ(chosen.count(begin + 8), 0u);
  }
  for (size_t i = 0; i < before.ids.size(); ++i) {
    if (chosen.count(static_cast<int32_t>(i)) > 0) continue;
    ASSERT_EQ(batch.ids[i], before.ids[i]);
  }
}

TEST(Masking, IsTheSameForTheSameNumberAndAnotherForTheNext) {
  PackedBatch a = batch_of(50), b = batch_of(50), c = batch_of(50);
  const MaskVocabulary vocabulary = small_vocabulary();
  const MaskedTokens first = mask_words({}, vocabulary, 1, 7, a);
  EXPECT_EQ(first.positions, mask_words({}, vocabulary, 1, 7, b).positions);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_NE(first.positions, mask_words({}, vocabulary, 1, 8, c).positions);
}

TEST(Masking, SharesAboveOneAreRefused) {
  PackedBatch batch = batch_of(1);
  MaskOptions options;
  options.mask_share = 0.8;
  options.random_share = 0.3;
  EXPECT_THROW(mask_words(options, small_vocabulary(), 1, 0, batch), Error);
}

}  // namespace

}  // namespace simile
