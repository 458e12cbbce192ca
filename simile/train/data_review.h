// SPDX-License-Identifier: Apache-2.0
// What a run is about to train and test on, and the mistakes that can be seen in it before the
// first step.
//
// Reported for each data set: pairs and distinct texts, duplicates, pairs of two equal sides, empty
// texts; lengths in tokens of the distinct texts (median, 95 %, longest) and how many are cut at
// the limit; classes or scores; and how much of each evaluation and test stands in it
// (simile/data/data_review.h).
//
// Mistakes, which stop the run unless `data_checks` says otherwise, and warnings: those of
// simile/train/teaching_review.h. Further mistakes:
//   a text side that is mapped to numbers, ids or labels while a column of texts is not read
//   left and right exchanged, as texts found on the other side of an evaluation show
//   at least 1 % and at least 10 of the examples of an evaluation or test in the training data
// Further warnings: fewer such examples; sides whose lengths are opposite to an evaluation's under
// a loss that compares in one direction; scores that score_scale makes too small.
#pragma once

#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"

namespace simile {

class Evaluations;
struct ObjectiveData;
struct TrainOptions;

struct DataFinding {
  bool is_mistake = false;  // otherwise a warning
  std::string message;
};

struct RunReview {
  std::vector<std::string> report;  // lines
  std::vector<DataFinding> findings;
};

// Reviews `data`, as read_run_data() gives it, and tells `events`. Errors: ErrorKind::kRecipe with
// all mistakes, if data_checks is stop.
void review_run_data(const TrainOptions& options,
                     const std::vector<std::vector<ObjectiveData>>& data,
                     const Evaluations& evaluations, const Evaluations& tests, EventSink& events);

// Reads all that a run of the recipe would read, and reviews it; nothing is trained or written.
// Errors: those of train() before its first step, but for the mistakes found.
RunReview review_recipe(const ConfigNode& recipe, EventSink& events);

}  // namespace simile
