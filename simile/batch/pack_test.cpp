// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/pack.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace simile
