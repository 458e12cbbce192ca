// SPDX-License-Identifier: Apache-2.0
#include "simile/data/score_range.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(ScoreRange, IsThatOfAnAnnotationScale) {
  struct Case {
    double minimum, maximum, offset, scale;
  };
  for (const Case& c :
       {Case{0, 5, 0, 5}, Case{0, 4.8, 0, 5}, Case{0.2, 3.6, 0, 4}, Case{0, 1, 0, 1},
        Case{1, 5, 1, 4}, Case{1.2, 4.9, 1, 4}, Case{0, 3, 0, 3}, Case{0, 87, 0, 100},
        Case{0, 6.5, 0, 10}, Case{-1, 1, -1, 2}, Case{0, 2.0000000001, 0, 2}, Case{-4.5, 0, -5, 5},
        Case{1, 1, 0, 1}, Case{0, 100, 0, 100}}) {
    const ScoreMapping mapping = guess_score_mapping(c.minimum, c.maximum);
    EXPECT_EQ(mapping.offset, c.offset) << c.minimum << " " << c.maximum;
    EXPECT_EQ(mapping.scale, c.scale) << c.minimum << " " << c.maximum;
  }
}

TEST(ScoreRange, TellsWhatToSet) {
  EXPECT_EQ(describe_score_mapping({0, 5}), "set data.score_scale: 5");
  EXPECT_EQ(describe_score_mapping({1, 4}), "set data.score_offset: 1 and data.score_scale: 4");
}

}  // namespace
}  // namespace simile
