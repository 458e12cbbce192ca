// SPDX-License-Identifier: Apache-2.0
// Tests whether the difference B - A of a metric between two models on the same evaluations is more
// than chance. Both are run folders, of one run or of several seeds (simile/report/run_files.h), or
// both files of predictions (simile/eval/predictions.h). hybrid:FOLDER is a run's model with BM25,
// if evaluated.
//
// Two sources of chance are measured apart:
//
//   seeds      where both sides have two runs or more, paired by seed, or by fold: paired t-test
//              and permutation test of the metric (simile/metric/significance.h)
//   examples   where predictions were written: the 95 % bootstrap interval of the difference over
//              the examples, which both sides draw alike; of several runs their mean is compared,
//              of folds the mean of the folds' metrics, drawing from the examples of all. An
//              example that was tested under several seeds is drawn once, with all of them
//
// It compares the metrics of both sides, except thresholds. It warns of runs that kept their start.
//
// Errors (ErrorKind::kInput): a path that is neither, or one of each; sides with several runs whose
// seeds are not the same; predictions that are not of the same examples; no report in common.
// ErrorKind::kUsage: a requested metric that is missing, with the nearest name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/metric/significance.h"

namespace simile {

struct ComparisonOptions {
  std::vector<std::string> metrics;
  int64_t samples = 10000;
  int64_t seed = 1;

  void visit(OptionVisitor& v) {
    v.field("metric", metrics,
            {"metrics to compare, as NAME.METRIC (test.spearman) or METRIC; none: all there are"});
    v.field("samples", samples,
            {"samples of the bootstrap, and of the permutation test for more than 20 seeds",
             "samples", 1, 10000000});
    v.field("seed", seed, {"seed of the samples", "", 0});
  }
};

struct ComparedMetric : PairedTest {  // over the runs
  std::string name;
  std::vector<double> a_values, b_values;  // one per run
  std::optional<Interval> interval;        // of the difference
};

struct ComparedReport {
  std::string task, name;
  int64_t examples = 0;
  std::vector<ComparedMetric> metrics;
};

struct ComparedSide {
  std::string path;
  size_t runs = 0;
  bool has_folds = false;      // its runs are tested on parts of the data
  std::vector<int64_t> seeds;  // of the runs; empty for a file, or when not known
};

struct Comparison {
  ComparedSide a, b;
  ComparisonOptions options;
  std::vector<ComparedReport> reports;
  std::vector<std::string> warnings;

  // A table for people, metrics x 100; differences are marked * for p < 0.05 and _ for p < 0.1 of
  // the t-test, as RCL marks them (Tan, Rolland & Tian 2022).
  std::string to_table() const;
  std::string to_json() const;  // one line; metrics as fractions
};

// Progress counts metrics.
Comparison compare_runs(const std::string& a, const std::string& b,
                        const ComparisonOptions& options, EventSink& events);

// The same of chosen runs of each side, one folder each, under these names.
struct ChosenRuns {
  std::string name;
  std::vector<std::string> folders;
};
Comparison compare_runs(const ChosenRuns& a, const ChosenRuns& b, const ComparisonOptions& options,
                        EventSink& events);

// How much a figure of finished runs depends on the examples they were tested on.
struct FigureInterval {
  double value = 0;
  Interval interval;
};

// EVALUATION.METRIC of run folders and its 95 % bootstrap interval over their test examples, drawn
// as compare_runs() draws them, with seed 1; for several seeds those of their mean, for folds those
// of the mean of the folds' metrics. None, with the reason in `problem`, without predictions, for a
// metric that is not computed from them, and if they do not give the reported value. The same bits
// for any number of threads. Errors (ErrorKind::kInput): a folder without a finished run;
// predictions that cannot be read; runs that were not tested on the same examples.
std::optional<FigureInterval> example_interval(const std::vector<std::string>& folders,
                                               const std::string& metric, int64_t samples,
                                               std::string& problem);

}  // namespace simile
