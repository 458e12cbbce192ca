// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using ::testing::ElementsAre;

TEST(PackTexts, LaysTheChosenTextsOneAfterTheOther) {
  const std::vector<std::vector<int32_t>> texts = {{1, 2}, {}, {3, 4, 5}};
  PackedBatch batch;
  pack_texts(texts, {2, 0}, batch);
  pack_texts(texts, {1, 2}, batch);
  EXPECT_THAT(batch.ids, ElementsAre(3, 4, 5, 1, 2, 3, 4, 5));
  EXPECT_THAT(batch.offsets, ElementsAre(0, 3, 5, 5, 8));
  EXPECT_EQ(batch.size(), 4);
  EXPECT_EQ(batch.tokens(), 8);
}

}  // namespace
}  // namespace simile
