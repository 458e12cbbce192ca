// SPDX-License-Identifier: Apache-2.0
// By which number the best weights are chosen, when training stops since they get no better, how a
// stage went by its log, and why it may have brought nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/report.h"
#include "simile/report/run_log.h"
#include "simile/train/train_options.h"

namespace simile {

// Whether it is a loss of a stage, not a metric of an evaluation.
bool is_loss_metric(const std::string& metric);

// Whether its values are shown x 100.
bool is_shown_as_fraction(const std::string& metric);

// Which end of a loss or of EVALUATION.METRIC is better, by the table of metrics.
Better better_end(const std::string& metric);

// "dev.map", "mean of dev.map, faq.mrr"
std::string name_metrics(const std::vector<std::string>& metrics);

// options.early_stop with a direction: for `auto` that of the first metric (better_end()).
EarlyStopOptions selection_rules(const SelectionOptions& options);

// The mean of `metrics`, each REPORT.METRIC of one of the reports. Errors (kRecipe): none has it.
double selection_value(const std::vector<Report>& reports, const std::vector<std::string>& metrics);

// "mse step 40: dev.spearman 81.20 (best so far)", without the stage and step.
std::string describe_selection(const SelectionOptions& options, double value, bool is_best);

// That mean of a model's reports as a report, without metrics where one has none. No losses.
Report selection_report(const std::vector<Report>& reports,
                        const std::vector<std::string>& metrics);

// Is a figure better than another by more than the rounding of its sums? Equal rankings may have
// Spearman coefficients that differ in the last bit.
bool is_better(double value, double than, bool lower_is_better);

// Everything a checkpoint must hold.
struct EarlyStopState {
  int64_t evaluations = 0;       // values seen
  int64_t best_evaluation = -1;  // number from 0 of the best; -1: none yet
  double best_value = 0.0;
  double reference_value = 0.0;     // what the next value must exceed to restart the patience
  int64_t without_improvement = 0;  // evaluations since
};

class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopOptions& options) : options_(options) {}

  // Takes the next value; true if it is the best so far (by is_better(): a tie keeps the earlier; a
  // value that is not finite is never the best). Patience starts again only when the value is
  // better by more than minimum_improvement than the value at which it last did.
  bool update(double value);

  // True after `patience` evaluations in a row without such an improvement; never where it is 0.
  bool should_stop() const {
    return options_.patience > 0 && state_.without_improvement >= options_.patience;
  }

  const EarlyStopState& state() const { return state_; }
  void load_state(const EarlyStopState& state) { state_ = state; }

 private:
  EarlyStopOptions options_;
  EarlyStopState state_;
};

struct StageCourse {
  std::string stage;
  std::string metric;       // "dev.map", "mean of dev.map, faq.mrr"
  bool is_fraction = true;  // which is shown x 100
  bool lower_is_better = false;
  double learning_rate = 0;
  int64_t steps = 0;                  // done
  int64_t examples = 0;               // of the smallest evaluation, where the caller knows it
  std::vector<CurvePoint> values;     // of the metric, by step; without those that are not finite
  std::optional<double> loss_change;  // of the training loss from beginning to end: -0.4 fell 40 %
  std::optional<double> largest_gradient;  // the largest norm of a step's gradients

  const CurvePoint& best() const;  // the first of the best values; there is one at least

  std::string show(double value) const;  // fractions x 100

  // There is a value of step 0, and none that is better.
  bool is_start_best() const;
};

// The course of `metrics`, each EVALUATION.METRIC or loss.NAME, as the lines of the stage in
// metrics.jsonl have them. `loss_change` compares the medians of the first and the last tenth of
// the steps, five at least, of each objective by itself; of several objectives it is the mean.
// Nothing while there are fewer than four steps.
StageCourse read_stage_course(const std::string& log_path, const StageOptions& options,
                              const std::vector<std::string>& metrics);

// Why no later weights were better than those of step 0, the likeliest first: one sentence each,
// with a remedy. For a course whose start is the best, or worse at its end than at its start.
std::vector<std::string> likely_causes(const StageCourse& course);

}  // namespace simile
