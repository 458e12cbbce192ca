// SPDX-License-Identifier: Apache-2.0
// A recipe with `folds: k`: which data it cuts into folds, and the recipe of one fold.
//
//   folds: 5
//   stages:
//     objectives: {data: {path: faq.tsv, part: fit}, dev: {part: dev}, loss: bsc}
//   tests: {name: test, task: ranking, data: faq.tsv, part: test}
//
// What names a `part` (simile/data/pair_dataset.h) is cut; all else is the same for each fold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/train/train_options.h"

namespace simile {

// Gives the folds' number to each data set and evaluation with a part, which then read fold 0.
// Nothing where the recipe has no folds. Errors (ErrorKind::kRecipe): a selection.metric of the
// part that is tested, with folds or with one fold alone; several `runs` as well; no data to train
// on, or none to test on; and what would train on texts that are tested on: parts of different
// data, or cut otherwise or after another fold_seed; data that is read whole beside its parts; a
// dev part that is trained on.
void apply_folds(TrainOptions& options);

// The recipe that trains with one fold alone, from 0; of options that apply_folds() has seen.
TrainOptions options_of_fold(const TrainOptions& options, int64_t fold);

// Whether each example of the evaluation is evaluated in one fold and no other.
bool is_cut(const EvaluationOptions& evaluation);

}  // namespace simile
