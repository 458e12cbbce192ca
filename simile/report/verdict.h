// SPDX-License-Identifier: Apache-2.0
// What a run of training brought: a metric of the weights before the first step and of those it
// ended with, on the same examples. to_line() tells it in one line:
//
//   verdict: dev map 32.10 -> 41.90 (+9.80, 95 % interval +4.20 to +15.10, paired bootstrap over
//   320 queries)
//
// The interval is that of bootstrap_interval() (simile/metric/significance.h) with seed 1: examples
// are drawn, and both models scored on the same ones. Of a mean over several sets each set is drawn
// from on its own. There are 10,000 samples; of more than 5,000 examples fewer, 5e7 / examples, but
// at least 1,000. Thresholds of pairs stay as they were chosen on all examples. The interval tells
// of other examples of the same kind, not of other seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/metric/significance.h"

namespace simile {

// What a model gave on several evaluations: a report of each, and the predictions behind it.
struct Scores {
  std::vector<Report> reports;
  std::vector<Predictions> predictions;

  void add(Scores more);
};

struct Gain {
  std::string title;                 // "dev map", "mean of dev map, faq mrr"
  std::vector<std::string> metrics;  // EVALUATION.METRIC
  bool is_loss = false;              // of a stage, not a metric of an evaluation
  bool lower_is_better = false;
  std::vector<double> start, trained;  // one for each run (seed)

  // Of trained - start, of a single run; or why there is none.
  std::optional<Interval> interval;
  int64_t samples = 0;
  std::string examples;  // what was drawn: "320 queries"
  std::string no_interval;

  std::vector<double> differences() const;
  bool is_fraction() const;  // shown x 100
};

// Of the mean of `metrics`, each EVALUATION.METRIC. Nothing where one side lacks one of them; no
// interval where a metric cannot be computed from the predictions. Errors (kInput): predictions
// that are not of the same examples.
std::optional<Gain> measure_gain(const std::vector<std::string>& metrics, const Scores& start,
                                 const Scores& trained);

struct Verdict {
  std::vector<Gain> gains;  // the first is that of the metric that chose the weights, where one did
  int64_t runs = 1;
  std::string over = "seeds";  // what differs between the runs
  int64_t start_kept = 0;      // of the runs: the weights kept are those before the first step
  std::vector<std::string> stages_that_kept_theirs;  // began with better weights than they made
  std::vector<std::string> causes;                   // the likely ones, where any of that was so

  // One line without its end, metrics x 100.
  std::string to_line() const;

  // {"line", "runs", "start_kept", "gains": [{"metrics", "start", "trained", "difference", ...}],
  // "stages_that_kept_their_start", "causes"} with fractions; of one run a gain has "interval" {
  // "low", "high", "confidence", "samples", "over"} or "no_interval", of several "differences" and
  // their "deviation", and start, trained and difference are means.
  std::string to_json() const;
};

// Of the same recipe with several seeds, or "folds", one at least.
Verdict join_verdicts(const std::vector<Verdict>& runs, const std::string& over = "seeds");

}  // namespace simile
