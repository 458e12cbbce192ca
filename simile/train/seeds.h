// SPDX-License-Identifier: Apache-2.0
// A recipe trained with several seeds, as what one run says may be luck, or with each fold of its
// data in turn (fold_runs.h), so that all of it is tested on.
#pragma once

#include <functional>
#include <string>

#include "simile/core/event.h"
#include "simile/train/train_options.h"
#include "simile/train/trainer.h"

namespace simile {

// Trains a recipe with `runs: 1` and no folds in a folder; calls `begin` when all was read and
// checked, before the first step.
using TrainOnce = std::function<TrainResult(const TrainOptions& options, const std::string& path,
                                            const std::function<void()>& begin)>;

// How many trainings a recipe is, by `runs` or `folds`.
int64_t count_runs(const TrainOptions& options);

// Training `number` of them, from 0: its seed or fold, and the baselines that are computed with it.
TrainOptions options_of_run(const TrainOptions& options, int64_t number);

// Trains `options.runs` times, with the seeds seed, seed + 1, ..., in the folders run-1, run-2, ...
// of `folder`. The folder then holds run.json, the model of the run whose selected value is the
// best (of the first run where no stage selects), and results.json: each run's reports, the mean
// and the sample standard deviation of every metric. Baselines, which do not depend on the seed,
// are computed once; `untrained` weights do unless there is a start model.
//
// With `options.folds` it trains so many times with the same seed and another fold each. There is
// then no model above the runs, as none of them is better for the parts it was tested on; the
// reports are those of join_fold_reports(), baselines are evaluated in each fold.
// Errors: as train().
TrainResult train_seeds(const TrainOptions& options, const std::string& folder, bool resume,
                        bool overwrite, const TrainOnce& train_once, EventSink& events);

}  // namespace simile
