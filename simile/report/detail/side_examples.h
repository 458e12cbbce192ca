// SPDX-License-Identifier: Apache-2.0
// The test examples behind one evaluation of all runs of a side, and its metrics as functions of
// any choice of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/metric/significance.h"
#include "simile/report/detail/compared_runs.h"

namespace simile {

// Of the runs of `side`, in the order of sort_runs(), the reports at `places`, one a run. An
// example that was tested under several seeds counts once, also where all folds were tested on it;
// the examples of folds that were tested on parts of the data stand one after the other.
class SideExamples {
 public:
  // Errors (ErrorKind::kInput): predictions that cannot be read; runs of one fold, or of all where
  // there are none, that were not tested on the same examples.
  SideExamples(const ComparedRuns& side, const std::vector<size_t>& places);
  SideExamples(const SideExamples&) = delete;  // statistics refer to it
  SideExamples& operator=(const SideExamples&) = delete;

  // A run has no predictions: no other member may then be called.
  bool are_missing() const { return predictions_.empty(); }
  int64_t count() const { return count_; }
  const std::vector<Predictions>& predictions() const { return predictions_; }  // one a run

  // The mean over the folds that have any of the positions of the mean over each one's runs.
  // Refers to this object. None for a metric that a run does not report or that is not computed
  // from predictions, and where it is not what was reported: then `problem` says so.
  Statistic statistic(const std::string& metric, std::string& problem) const;

 private:
  // Runs that were tested on the same examples, one after the other: those of a fold, or all.
  struct Fold {
    size_t begin = 0, end = 0;
    int64_t examples = 0;
  };
  bool has_examples_of_its_own(size_t run) const;
  static double mean_of_fold(const Fold& fold, const std::vector<Statistic>& of_runs,
                             const std::vector<int64_t>& positions);

  std::vector<Predictions> predictions_;
  std::vector<Report> reports_;
  std::vector<Fold> folds_;
  int64_t count_ = 0;
};

}  // namespace simile
