// SPDX-License-Identifier: Apache-2.0
#include "simile/train/recent_losses.h"

#include <gmock/gmock.h>

namespace simile {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RecentLosses, LaterStepsWeighMore) {
  RecentLosses losses;
  EXPECT_THAT(losses.values(), IsEmpty());
  losses.add("", 3);
  EXPECT_THAT(losses.values(), ElementsAre(Pair("loss", DoubleEq(3))));
  losses.add("", 1);
  EXPECT_THAT(losses.values(), ElementsAre(Pair("loss", DoubleEq((0.95 * 3 + 1) / 1.95))));
  for (int i = 0; i < 400; ++i) losses.add("", 7);
  EXPECT_NEAR(losses.values()[0].second, 7, 1e-6);
  losses.clear();
  EXPECT_THAT(losses.values(), IsEmpty());
}

TEST(RecentLosses, EachObjectiveHasItsOwn) {
  RecentLosses losses;
  losses.add("nli", 1);
  losses.add("sts", 0.25);
  losses.add("nli", 1);
  EXPECT_THAT(losses.values(),
              ElementsAre(Pair("loss (nli)", DoubleEq(1)), Pair("loss (sts)", DoubleEq(0.25))));
}

}  // namespace
}  // namespace simile
