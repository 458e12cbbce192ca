// SPDX-License-Identifier: Apache-2.0
// Reviews the data that a run will train and test on, and finds mistakes before the first step.
//
// It reports, for each data set: pairs and distinct texts, duplicates, pairs of two equal sides,
// empty texts; lengths in tokens of the distinct texts (median, 95 %, longest) and how many are
// cut; classes or scores; and its overlap with each evaluation and test.
//
// Mistakes, which stop the run unless `data_checks` says otherwise:
//   a column that stands for two sides; pairs of equal sides under a loss that compares no other
//     texts; one pair a batch, or one text on a side of all pairs, under a loss that compares those
//     of a batch; equal targets under a loss that compares targets; a single class
//   a text side that is mapped to numbers, ids or labels while a column of texts is not read
//   left and right exchanged, as texts found on the other side of an evaluation show
//   at least 1 % and at least 10 of the examples of an evaluation or test in the training data
// Warnings: equal sides under other losses; equal targets that may make all texts alike; texts
// without a letter or digit; texts that are often their own negatives; no steps; fewer examples of
// an evaluation than above; sides whose lengths are opposite to an evaluation's under a loss that
// compares in one direction; scores that score_scale makes too small.
#pragma once

#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/data/column_kinds.h"
#include "simile/train/train_options.h"

namespace simile {

class Evaluations;
struct ObjectiveData;
struct TrainingSet;

struct DataFinding {
  bool is_mistake = false;  // otherwise a warning
  std::string message;
};

struct RunReview {
  std::vector<std::string> report;  // lines
  std::vector<DataFinding> findings;
};

// Reviews `data`, as read_run_data() returns it, and reports to `events`. Errors:
// ErrorKind::kRecipe with all mistakes, if data_checks is stop.
void review_run_data(const TrainOptions& options,
                     const std::vector<std::vector<ObjectiveData>>& data,
                     const Evaluations& evaluations, const Evaluations& tests, EventSink& events);

// Reads all that a run of the recipe would read, and reviews it; nothing is trained or written.
// Errors: those of train() before its first step, except for the mistakes found.
RunReview review_recipe(const ConfigNode& recipe, EventSink& events);

// Reasons why an objective cannot train anything; `place`: "stages.0.objectives.0".
std::vector<DataFinding> review_teaching(const std::string& place,
                                         const ObjectiveOptions& objective, const TrainingSet& set);

// The columns of the examples' texts, with the option that names each; none without columns.
std::vector<SideColumn> side_columns(const PairDataOptions& data);

// Finds a stage whose options give it no step.
std::vector<DataFinding> review_steps(const StageOptions& stage);

}  // namespace simile
