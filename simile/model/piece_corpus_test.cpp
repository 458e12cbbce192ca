// SPDX-License-Identifier: Apache-2.0
#include "simile/model/piece_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::ElementsAre;

constexpr int32_t kEnd = PieceCorpus::kEnd;

TEST(PieceCorpus, KeepsCountedTokensAndCountsSequences) {
  PieceCorpus corpus({1, 0, 1});
  corpus.add({0, 1, 2, 0});
  corpus.add({1});
  corpus.add({});
  corpus.add({2, 2});
  EXPECT_EQ(corpus.sequences(), 4);
  EXPECT_THAT(corpus.tokens(), ElementsAre(kEnd, 0, 2, 0, kEnd, kEnd, kEnd, 2, 2, kEnd));
  EXPECT_THAT(corpus.document_frequencies(), ElementsAre(1, 2, 2));
}

TEST(PieceCorpus, BeyondItsRoomEverySecondSequenceIsKept) {
  PieceCorpus corpus(std::vector<uint8_t>(100, 1), 12);
  for (int32_t id = 0; id < 10; ++id) corpus.add({id, 99});
  // Full at the fifth sequence, which leaves 0, 2 and 4; then at 6 and 8.
  EXPECT_THAT(corpus.tokens(), ElementsAre(kEnd, 0, 99, kEnd, 4, 99, kEnd, 8, 99, kEnd));
  EXPECT_EQ(corpus.sequences(), 10);
  EXPECT_EQ(corpus.document_frequencies()[99], 10);
  EXPECT_EQ(corpus.document_frequencies()[3], 1);
}

TEST(PieceCorpus, OneSequenceLargerThanTheRoomIsKept) {
  PieceCorpus corpus({1, 1}, 2);
  corpus.add({0, 1, 0, 1, 0});
  EXPECT_EQ(corpus.tokens().size(), 7u);
  corpus.add({1});
  corpus.add({1});
  EXPECT_EQ(corpus.tokens().size(), 7u);
}

TEST(PieceCorpus, AnIdOutsideTheVocabularyIsRefused) {
  PieceCorpus corpus({1, 1});
  EXPECT_THROW(corpus.add({0, 2}), Error);
  EXPECT_THROW(corpus.add({-1}), Error);
}

TEST(PieceCorpus, RowsAreScaledByTheRelativeWeight) {
  std::vector<float> table = {1, 1, 1, 1, 1, 1, 1, 1};
  scale_rows({2, 6, 0, 8}, {1, 1, 1, 0}, table.data(), 2);
  EXPECT_THAT(table, ElementsAre(0.5f, 0.5f, 1.5f, 1.5f, 0.02f, 0.02f, 0, 0));
}

}  // namespace
}  // namespace simile
