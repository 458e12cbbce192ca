// SPDX-License-Identifier: Apache-2.0
// By which number the best weights are chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/eval/report.h"
#include "simile/train/early_stop.h"
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

// Of a stage's losses, not of an evaluation.
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

}  // namespace simile
