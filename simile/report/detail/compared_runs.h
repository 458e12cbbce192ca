// SPDX-License-Identifier: Apache-2.0
// The two sides of a comparison as they are read from disk, and what makes them comparable. Errors
// (ErrorKind::kInput): those of simile/report/comparison.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/metric/significance.h"
#include "simile/report/run_files.h"

namespace simile {

// One side: its runs with the reports that are compared, or a file of predictions as one run.
struct ComparedRuns {
  std::string path;
  bool is_file = false;
  std::vector<RunFiles> runs;

  bool has_folds() const { return runs[0].fold.has_value(); }
};

// Reads a run folder, a file of predictions, or hybrid:FOLDER, the run's model with BM25.
ComparedRuns read_compared_runs(const std::string& path);
// Reads several run folders together, under one name.
ComparedRuns read_compared_runs(const std::string& name, const std::vector<std::string>& folders);

// By fold, and in each by seed.
void sort_runs(ComparedRuns& side);

// sort_runs() of both. Errors also: a file and a folder; several runs on both sides, but not with
// the same seeds; folds on one side, or other ones.
void pair_runs(ComparedRuns& a, ComparedRuns& b);

std::vector<int64_t> seeds_of(const ComparedRuns& side);  // empty when one is not known

// The report on the same task and data; null where there is none.
const Report* find_report(const RunFiles& run, const Report& like);

// The `reports` of the runs of `side`, one a run, in the order of sort_runs(). An example that was
// tested under several seeds counts once, also if all folds were tested on it. If folds were tested
// on parts of the data, their examples come one after the other.
class SideExamples {
 public:
  // Errors (ErrorKind::kInput): predictions that cannot be read; runs of one fold, or of all where
  // there are none, that were not tested on the same examples.
  SideExamples(const ComparedRuns& side, const std::vector<const Report*>& reports);
  SideExamples(const SideExamples&) = delete;  // statistics refer to it
  SideExamples& operator=(const SideExamples&) = delete;

  // A run has no predictions: no other member may then be called.
  bool are_missing() const { return predictions_.empty(); }
  int64_t count() const { return count_; }
  const std::vector<Predictions>& predictions() const { return predictions_; }  // one a run

  // The mean over the folds that have any of the positions of the mean over each one's runs.
  // Refers to this object. None, with the reason in `problem`, for a metric that a run does not
  // report or that is not computed from predictions, and if it differs from the reported value.
  Statistic statistic(const std::string& metric, std::string& problem) const;

 private:
  // Runs that were tested on the same examples, one after the other: those of a fold, or all.
  struct Fold {
    size_t begin = 0, end = 0;
    int64_t examples = 0;
  };

  std::vector<Predictions> predictions_;
  std::vector<Report> reports_;
  std::vector<Fold> folds_;
  int64_t count_ = 0;
};

}  // namespace simile
