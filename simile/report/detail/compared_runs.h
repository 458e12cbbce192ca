// SPDX-License-Identifier: Apache-2.0
// The two sides of a comparison as they are read from disk, and what makes them comparable. Errors
// (ErrorKind::kInput): those of simile/report/comparison.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/eval/report.h"

namespace simile {

// One side: the reports of each run, and where the predictions behind them are.
struct ComparedRuns {
  struct Run {
    std::optional<int64_t> seed, fold;
    std::vector<Report> reports;
    std::vector<std::string> predictions;  // one per report; may be empty
    bool start_kept = false;               // its model is the one it began with
  };
  std::string path;
  bool is_file = false;
  std::vector<Run> runs;

  bool has_folds() const { return runs[0].fold.has_value(); }
};

// Of a run folder, or of a file of predictions; of hybrid:FOLDER the reports of the run's model
// together with BM25.
ComparedRuns read_compared_runs(const std::string& path);
// Of run folders together, under one name.
ComparedRuns read_compared_runs(const std::string& name, const std::vector<std::string>& folders);

// By fold, and in each by seed.
void sort_runs(ComparedRuns& side);

// sort_runs() of both. Errors also: a file and a folder; several runs on both sides, but not with
// the same seeds; folds on one side, or other ones.
void pair_runs(ComparedRuns& a, ComparedRuns& b);

std::vector<int64_t> seeds_of(const ComparedRuns& side);  // empty when one is not known

// The place of the report on the same task and data; the number of reports where there is none.
size_t find_report(const ComparedRuns::Run& run, const Report& like);

}  // namespace simile
