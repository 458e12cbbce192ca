// SPDX-License-Identifier: Apache-2.0
#include "simile/train/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {

EarlyStopOptions selection_rules(const SelectionOptions& options) {
  EarlyStopOptions rules = options.early_stop;
  if (rules.direction != "auto") return rules;
  const bool is_loss = !options.metric.empty() && is_loss_metric(options.metric[0]);
  rules.direction = is_loss ? "min" : "max";
  return rules;
}

namespace {

// The report that a metric, REPORT.METRIC, is of. Errors (kRecipe): there is none.
const Report& report_of(const std::vector<Report>& reports, const std::string& metric) {
  const std::string name = split_figure_name(metric).evaluation;
  for (const Report& report : reports) {
    if (report.name == name) return report;
  }
  throw Error(ErrorKind::kRecipe,
              fmt::format("selection.metric '{}': there is no evaluation '{}'", metric, name));
}

}  // namespace

bool is_loss_metric(const std::string& metric) {
  return metric.rfind(std::string(kLossEvaluation) + ".", 0) == 0;
}

double selection_value(const std::vector<Report>& reports,
                       const std::vector<std::string>& metrics) {
  double sum = 0;
  for (const std::string& metric : metrics) {
    sum += report_of(reports, metric).metric(split_figure_name(metric).metric);
  }
  return sum / static_cast<double>(metrics.size());
}

std::string describe_selection(const SelectionOptions& options, double value, bool is_best) {
  const bool is_loss = selection_rules(options).direction == "min";
  return fmt::format("{}{} {}{}", options.metric.size() > 1 ? "mean of " : "",
                     fmt::join(options.metric, ", "),
                     is_loss ? fmt::format("{:.4f}", value) : fmt::format("{:.2f}", 100 * value),
                     is_best ? " (best so far)" : "");
}

Report selection_report(const std::vector<Report>& reports,
                        const std::vector<std::string>& metrics) {
  std::vector<Report> selected;
  for (const std::string& metric : metrics) {
    selected.push_back(report_of(reports, metric));
    Report& report = selected.back();
    if (report.metrics.empty()) return {};
    report.metrics = {{"mean", report.metric(split_figure_name(metric).metric)}};
    report.task = "mean";
  }
  Report mean = mean_report(selected);
  mean.notes = {fmt::format("mean of {}", fmt::join(metrics, ", "))};
  return mean;
}

bool EarlyStop::update(double value) {
  const int64_t number = state_.evaluations++;
  const bool first = state_.best_evaluation < 0;
  const double sign = options_.direction == "min" ? -1.0 : 1.0;
  const bool is_best = std::isfinite(value) && (first || sign * (value - state_.best_value) > 0.0);
  if (is_best) {
    state_.best_value = value;
    state_.best_evaluation = number;
  }
  const double gain = sign * (value - state_.reference_value);
  if (is_best && (first || gain > options_.minimum_improvement)) {
    state_.reference_value = value;
    state_.without_improvement = 0;
  } else {
    ++state_.without_improvement;
  }
  return is_best;
}

}  // namespace simile
