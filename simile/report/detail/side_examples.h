// SPDX-License-Identifier: Apache-2.0
// The test examples behind one evaluation of all runs of a side, and its metrics as functions of
// any choice of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/metric/significance.h"
#include "simile/report/detail/compared_runs.h"

namespace simile {

// Of the runs of `side`, in the order of sort_runs(), the reports at `places`, one a run. An
// example that was tested under several seeds counts once, and examples of several folds stand one
// after the other.
class SideExamples {
 public:
  // Errors (ErrorKind::kInput): predictions that cannot be read; runs of one fold, or of all where
  // there are none, that were not tested on the same examples.
  SideExamples(const ComparedRuns& side, const std::vector<size_t>& places);

  // A run has no predictions: no other member may then be called.
  bool are_missing() const { return predictions_.empty(); }
  int64_t count() const { return count_; }
  const std::vector<Predictions>& predictions() const { return predictions_; }  // one a run

  // The mean over the folds that have any of the positions of the mean over each one's runs.
  // Refers to this object. None for a metric that is not computed from predictions, or where it is
  // not what was reported: then `problem` says so.
  Statistic statistic(const std::string& metric, std::string& problem) const;

 private:
  struct Fold {
    size_t begin = 0, end = 0;  // its runs
    int64_t examples = 0;
  };
  static double mean_of_fold(const Fold& fold, const std::vector<Statistic>& of_runs,
                             const std::vector<int64_t>& positions);

  std::vector<Predictions> predictions_;
  std::vector<const Report*> reports_;
  std::vector<Fold> folds_;  // of runs without folds one
  int64_t count_ = 0;
};

}  // namespace simile
