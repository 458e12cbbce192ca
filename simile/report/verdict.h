// SPDX-License-Identifier: Apache-2.0
// The verdict on a training run, in words: it compares the final weights with those before the
// first step, on the same examples, and with baselines without training. The first line decides:
//
//   verdict: helped; test map 61.20 -> 71.40 (+10.20, 95 % interval +8.31 to +12.15, 435 queries)
//   verdict: undecided, still below BM25 (38.20 against 40.90): do not use; test map ...
//
// The interval is that of bootstrap_interval() (simile/metric/significance.h) with seed 1: it draws
// examples and scores both sides on the same ones. For a mean over several sets, it draws from each
// set separately. It takes 10,000 samples; with more than 5,000 examples 5e7 / examples, but at
// least 1,000. Thresholds of pairs stay as chosen on all examples. The interval covers other
// examples of the same kind, not other seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/metric/significance.h"

namespace simile {

// A model's results on several evaluations: a report of each, and the predictions behind it.
struct Scores {
  std::vector<Report> reports;
  std::vector<Predictions> predictions;

  void add(Scores more);
};

// The trained model against what `of` names: "start", on the examples that decide; "seen" and
// "unseen", the start on queries with a relevant document that training saw, and on the others;
// "bm25"; "hybrid", the start with BM25 against the trained model with BM25; "majority", the most
// frequent class; "selected", the start on the metric that chose the weights; "loss".
struct Gain {
  std::string of = "start";
  std::string rival;                 // of those that need no training: "always answering 'x'"
  std::string title;                 // "dev map", "mean of dev map, faq mrr"
  std::vector<std::string> metrics;  // EVALUATION.METRIC, or a loss
  bool lower_is_better = false;
  bool selects = false;                // the metric chose the weights
  std::vector<double> start, trained;  // one for each run (seed); start: of what `of` names

  // The interval of trained - start, or why there is none.
  std::optional<Interval> interval;
  std::string no_interval;
  std::vector<double> draws;  // the samples of the interval
  int64_t examples = 0;       // drawn from
  std::string unit;           // "queries"

  double difference() const;  // mean over the runs
  int direction() const;      // 1: better, -1: worse, 0: the interval holds 0, or there is none
  bool is_fraction() const;   // shown x 100
};

// Measures the mean of `metrics`, each EVALUATION.METRIC. "majority" only checks that `start` has
// them. None if a side lacks one, or without such examples; no interval if predictions do not give
// a metric. Errors (kInput): predictions of other examples.
std::optional<Gain> measure_gain(const std::string& of, const std::vector<std::string>& metrics,
                                 const Scores& start, const Scores& trained);

struct Verdict {
  std::vector<Gain> gains;  // the first decides; one of each kind at most
  int64_t runs = 1;
  std::string over = "seeds";  // what differs between the runs
  int64_t start_kept = 0;      // of the runs: the weights kept are those before the first step
  std::vector<std::string> stages_that_kept_theirs;  // began with better weights than they made
  std::vector<std::string> causes;                   // the likely ones, where any of that was so

  const Gain* find(const std::string& of) const;  // null where there is none

  // "helped" or "hurt" if the first gain's interval lies on one side of 0, "undecided" if it does
  // not or there is none, "nothing gained" if all runs kept their start, or "none".
  std::string word() const;

  // The first line without its end, metrics x 100, and a line for each further gain.
  std::string to_line() const;
  std::vector<std::string> details() const;
  std::string to_text() const;  // all of them, the further ones indented

  // {"line", "word", "details", "runs", "start_kept", "gains": [{"of", "metrics", "start",
  // "trained", "difference", ...}], "stages_that_kept_their_start", "causes"} with fractions; a
  // gain has "interval" {"low", "high", "confidence", "samples", "over"} or "no_interval"; for
  // several runs also "differences" and their "deviation", and the other figures are means.
  std::string to_json() const;
};

// Joins one or more runs of one recipe over seeds, or "folds". Drops gains that not all runs have.
// The interval is that of the mean over the runs: each example is drawn with all its seeds.
Verdict join_verdicts(const std::vector<Verdict>& runs, const std::string& over = "seeds");

}  // namespace simile
