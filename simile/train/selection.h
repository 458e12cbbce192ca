// SPDX-License-Identifier: Apache-2.0
// By which number the best weights are chosen, and when training stops since they get no better.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/report.h"
#include "simile/train/train_options.h"

namespace simile {

struct SelectedValue {
  std::string stage;
  int64_t step = 0;  // of the stage; 0: before its first
  double done = 0;   // part of the stage, 0 to 1
  double value = 0;  // selection_value(); not finite where the metric is not
};

// A sink that train() also tells every value by which weights are selected, in its order. To end
// training, throw at the next progress(): from selected() nothing may be thrown.
class SelectionSink : public EventSink {
 public:
  virtual void selected(const SelectedValue& value) = 0;
};

// Whether it is a loss of a stage, not a metric of an evaluation.
bool is_loss_metric(const std::string& metric);

// options.early_stop with a direction: for `auto`, min for losses and max for metrics.
EarlyStopOptions selection_rules(const SelectionOptions& options);

// The mean of `metrics`, each REPORT.METRIC of one of the reports. Errors (kRecipe): a report
// without that metric.
double selection_value(const std::vector<Report>& reports, const std::vector<std::string>& metrics);

// "mse step 40: dev.spearman 81.20 (best so far)", without the stage and step.
std::string describe_selection(const SelectionOptions& options, double value, bool is_best);

// That mean of a model's reports as a report, or one without metrics where one of them has none.
// None of `metrics` is a loss.
Report selection_report(const std::vector<Report>& reports,
                        const std::vector<std::string>& metrics);

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

  // Takes the next value; true when it is strictly the best so far (a tie keeps the earlier; what
  // is not finite is never the best). Patience starts again only when the value is better by more
  // than minimum_improvement than the value at which it last did.
  bool update(double value);

  // True after `patience` evaluations in a row without such an improvement; never when patience is
  // 0.
  bool should_stop() const {
    return options_.patience > 0 && state_.without_improvement >= options_.patience;
  }

  const EarlyStopState& state() const { return state_; }
  void load_state(const EarlyStopState& state) { state_ = state; }

 private:
  EarlyStopOptions options_;
  EarlyStopState state_;
};

}  // namespace simile
