// SPDX-License-Identifier: Apache-2.0
// The examples that a model gets most wrong, from its predictions.
//
//   scores    largest |share of scores below - share of gold answers below|, ranks being shared by
//             equal values: far too high or far too low among the others, whatever the scale
//   classes   wrong classes, from the most probable on
//   queries   lowest value of map, or of the first metric where map was not computed
//
// Of equally wrong examples the first in the file comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/eval/predictions.h"

namespace simile {

struct WorstError {
  int64_t example = 0;  // position in the predictions
  double error = 0;     // as above; of classes their probability, of queries 1 - metric
  double gold_rank = 0, score_rank = 0;  // of scores: shares in [0, 1]
};

// At most `count`; examples without any error are left out.
std::vector<WorstError> find_worst_errors(const Predictions& predictions, int64_t count);

// The column of kQueries that find_worst_errors() goes by.
size_t error_metric(const Predictions& predictions);

}  // namespace simile
