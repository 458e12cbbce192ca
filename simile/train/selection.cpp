// SPDX-License-Identifier: Apache-2.0
#include "simile/train/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simile {

EarlyStopOptions selection_rules(const SelectionOptions& options) {
  EarlyStopOptions rules = options.early_stop;
  if (rules.direction != "auto") return rules;
  const std::string losses = std::string(kLossEvaluation) + ".";
  const bool is_loss = !options.metric.empty() && options.metric[0].rfind(losses, 0) == 0;
  rules.direction = is_loss ? "min" : "max";
  return rules;
}

double selection_value(const std::vector<Report>& reports,
                       const std::vector<std::string>& metrics) {
  double sum = 0;
  for (const std::string& name : metrics) {
    const size_t point = name.find('.');
    for (const Report& report : reports) {
      if (report.name == name.substr(0, point)) sum += report.metric(name.substr(point + 1));
    }
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

Report mean_report(const std::vector<Report>& reports, const std::vector<std::string>& metrics) {
  Report mean;
  mean.task = mean.name = "mean";
  for (const Report& report : reports) {
    if (report.metrics.empty()) return {};
    mean.examples += report.examples;
    mean.model = report.model;
  }
  mean.metrics = {{"mean", selection_value(reports, metrics)}};
  mean.notes = {fmt::format("mean of {}", fmt::join(metrics, ", "))};
  return mean;
}

}  // namespace simile
