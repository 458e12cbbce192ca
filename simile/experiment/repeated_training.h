// SPDX-License-Identifier: Apache-2.0
// A recipe trained as often as it asks for: once; with several seeds, as one run may be luck; or
// with each fold of its data in turn (simile/train/read_recipe.h), so that all of it is tested on.
#pragma once

#include <string>

#include "simile/train/trainer.h"

namespace simile {

// Trains by the recipe (its options: simile/train/train_options.h) in `folder`, runs/NAME when that
// is empty: one run as train() does, or, with `runs` above 1 or `folds`, several runs in the
// folders run-1, run-2, ... of `folder`.
//
// With `runs` their seeds are seed, seed + 1, ..., and so is draw_seed of data with per_class. The
// folder then holds run.json, the model of the run whose selected value is the best (of the first
// run where no stage selects), and results.json: each run's reports, the mean and the sample
// standard deviation of every metric. A baseline that does not depend on the seed is computed once;
// an `untrained` start depends on it where weights are random, of the encoder or of a head.
//
// With `folds` all have the same seed and another fold each. There is then no model above the runs,
// as none of them is better for the parts it was tested on. Each evaluation has the model's report
// for each fold ("fold 0"), mean and sample standard deviation over the folds ("mean", "sd"), and
// "all", the metrics of all folds' examples together, if each is in one fold and the metric is one
// of examples. Metrics that depend on a threshold are not, because each fold has its own. The same
// of the model together with BM25, and of each baseline the mean under its own name, with the
// deviation ("bm25 sd"). The predictions of all folds together are written as those of a run are.
//
// Errors, resuming and several processes: as train().
TrainResult train_recipe(const ConfigNode& recipe, const std::string& folder, bool resume,
                         bool overwrite, EventSink& events, ProcessGroup* processes = nullptr);

}  // namespace simile
