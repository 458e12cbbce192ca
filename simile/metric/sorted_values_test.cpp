// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/sorted_values.h"

#include <gmock/gmock.h>

#include "simile/metric/correlation.h"
#include "simile/metric/threshold.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

TEST(SortedValues, RanksAChoiceAsIfItStoodAlone) {
  const SortedValues sorted({3, -1, 3, 8});
  EXPECT_EQ(sorted.distinct(), 3u);
  EXPECT_EQ(sorted.place(3), 2u);
  EXPECT_THAT(sorted.ranks({3, 1}), ElementsAre(2, 1));
  EXPECT_EQ(sorted.ranks({0, 3, 3, 2, 1}), average_ranks({3, 8, 8, 3, -1}));
  EXPECT_THAT(sorted.ranks({}), ElementsAre());
}

TEST(SortedValues, AveragePrecisionOfAChoiceIsThatOfItsExamples) {
  const std::vector<double> scores = {0.9, 0.1, 0.6, 0.6, 0.2};
  const std::vector<int> labels = {1, 0, 0, 1, 1};
  const AveragePrecision precision(scores, labels);
  EXPECT_EQ(precision({4, 4, 2, 3}), average_precision({0.2, 0.2, 0.6, 0.6}, {1, 1, 0, 1}));
  EXPECT_EQ(precision(all_positions(5)), average_precision(scores, labels));
  EXPECT_EQ(precision({1, 2}), 0);
}

}  // namespace
}  // namespace simile
