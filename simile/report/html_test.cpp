// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/html.h"

#include <gmock/gmock.h>

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> worst(const Predictions& predictions, int64_t count) {
  std::vector<int64_t> examples;
  for (const WorstError& error : find_worst_errors(predictions, count)) {
    examples.push_back(error.example);
  }
  return examples;
}

TEST(WorstErrors, StandFirst) {
  Predictions scores;
  scores.left = scores.right = {"a", "b", "c", "d", "e"};
  scores.gold = {0, 1, 2, 3, 4};
  scores.score = {0.9, 0.1, 0.2, 0.3, 0.35};  // the least similar pair has the highest score
  EXPECT_THAT(worst(scores, 2), ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(find_worst_errors(scores, 1)[0].error, 1);
  EXPECT_DOUBLE_EQ(find_worst_errors(scores, 1)[0].score_rank, 1);
  EXPECT_THAT(worst(scores, 0), IsEmpty());

  Predictions classes;
  classes.kind = PredictionKind::kClasses;
  classes.left = {"a", "b", "c", "d"};
  classes.gold_class = {"x", "x", "y", "y"};
  classes.predicted = {"x", "y", "y", "z"};
  classes.probability = {1, 0.9, 0.6, 0.95};
  EXPECT_THAT(worst(classes, 10), ElementsAre(3, 1));

  Predictions queries;
  queries.kind = PredictionKind::kQueries;
  queries.left = queries.right = {"a", "b", "c"};
  queries.metrics = {"p@1", "map"};
  queries.values = {{0, 1, 0}, {0.5, 1, 0.25}};
  EXPECT_THAT(worst(queries, 10), ElementsAre(2, 0));
  EXPECT_EQ(error_metric(queries), 1u);
}

}  // namespace
}  // namespace simile
