// SPDX-License-Identifier: Apache-2.0
// A recipe trained with several seeds: what one run says may be luck.
#pragma once

#include <functional>
#include <string>

#include "simile/core/event.h"
#include "simile/train/train_options.h"
#include "simile/train/trainer.h"

namespace simile {

// Trains a recipe with `runs: 1` in a folder; calls `begin` when all was read and checked, before
// the first step.
using TrainOnce = std::function<TrainResult(const TrainOptions& options, const std::string& path,
                                            const std::function<void()>& begin)>;

// Trains `options.runs` times, with the seeds seed, seed + 1, ..., in the folders run-1, run-2, ...
// of `folder`. The folder then holds run.json, the model of the run whose selected value is the
// best (of the first run where no stage selects), and results.json: each run's reports, the mean
// and the sample standard deviation of every metric. Baselines, which do not depend on the seed,
// are computed once; `untrained` weights do unless there is a start model.
// Errors: as train().
TrainResult train_seeds(const TrainOptions& options, const std::string& folder, bool resume,
                        bool overwrite, const TrainOnce& train_once, EventSink& events);

}  // namespace simile
