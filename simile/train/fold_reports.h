// SPDX-License-Identifier: Apache-2.0
// The reports of all folds as one table.
#pragma once

#include <vector>

#include "simile/eval/report.h"
#include "simile/report/run_folder.h"
#include "simile/train/train_options.h"
#include "simile/train/trainer.h"

namespace simile {

// Of each evaluation: the model's report for each fold ("fold 0"), mean and sample standard
// deviation over the folds ("mean", "sd"), and "all", the metrics of all folds' examples together,
// where each is in one fold (fold_runs.h) and the metric is one of examples: thresholds and what
// they decide are not, as each fold has its own. The same of the model together with BM25, and of
// each baseline the mean under its own name, with the deviation ("bm25 sd").
//
// The predictions of all folds together are written into `folder`, in the names those of a run
// have. `folds` are the results of the runs in the order of their folds.
std::vector<Report> join_fold_reports(const TrainOptions& options,
                                      const std::vector<TrainResult>& folds,
                                      const RunFolder& folder);

}  // namespace simile
