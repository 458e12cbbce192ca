// SPDX-License-Identifier: Apache-2.0
// What keeps an objective from teaching, as far as its options and data show.
//
// Mistakes: a column that stands for two sides; pairs of equal sides under a loss that compares no
// other texts; one pair a batch, or one text on a side of all pairs, under a loss that compares
// those of a batch; equal targets under a loss that compares targets; a single class.
// Warnings: equal sides under other losses; equal targets that nothing keeps from making all texts
// alike; texts without a letter or digit; texts that often meet themselves as negatives; a stage of
// no steps.
#pragma once

#include <string>
#include <vector>

#include "simile/data/column_kinds.h"
#include "simile/train/data_review.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// `place` is the recipe's name of the objective, "stages.0.objectives.0".
std::vector<DataFinding> review_teaching(const std::string& place,
                                         const ObjectiveOptions& objective, const TrainingSet& set);

// The columns that hold texts of the data's examples, with the option that names each; none where
// the format reads no columns.
std::vector<SideColumn> side_columns(const PairDataOptions& data);

// Finds a stage whose options give it no step.
std::vector<DataFinding> review_steps(const StageOptions& stage);

}  // namespace simile
