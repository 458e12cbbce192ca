// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/prediction_metric.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/eval/metric_table.h"
#include "simile/metric/significance.h"

namespace simile {
namespace {

constexpr int64_t kMostSamples = 10000, kFewestSamples = 1000;
constexpr int64_t kWork = 20000000;  // examples drawn for a metric
constexpr double kAgreement = 1e-6;  // of what is reported and what predictions give

// `report` may be null.
Answers answers_of(const Predictions& predictions, const Report* report) {
  Answers answers;
  answers.gold = predictions.gold;
  answers.score = predictions.score;
  if (report != nullptr) {
    if (const double* value = report->find_metric("threshold")) answers.threshold = *value;
    if (const double* value = report->find_metric("f1_threshold")) answers.f1_threshold = *value;
  }
  std::map<std::string, int64_t> numbers;
  const auto number_all = [&numbers](const std::vector<std::string>& names) {
    std::vector<int64_t> classes;
    for (const std::string& name : names) {
      classes.push_back(numbers.emplace(name, static_cast<int64_t>(numbers.size())).first->second);
    }
    return classes;
  };
  answers.gold_class = number_all(predictions.gold_class);
  answers.predicted = number_all(predictions.predicted);
  answers.classes = static_cast<int64_t>(numbers.size());
  return answers;
}

// A task that has predictions of this kind.
bool is_task_of(PredictionKind kind, const std::string& task) {
  return kind == PredictionKind::kClasses ? task == "classification"
                                          : task == "sts" || task == "pairs";
}

Statistic query_statistic(const Predictions& predictions, const std::string& metric) {
  const auto found = std::find(predictions.metrics.begin(), predictions.metrics.end(), metric);
  if (found == predictions.metrics.end()) return nullptr;
  const auto column = static_cast<size_t>(found - predictions.metrics.begin());
  return [values = predictions.values[column]](const std::vector<int64_t>& at) {
    double sum = 0;
    for (const int64_t position : at) sum += values[static_cast<size_t>(position)];
    return sum / static_cast<double>(at.size());
  };
}

bool is_binary(const std::vector<double>& gold) {
  const auto zeros = std::count(gold.begin(), gold.end(), 0.0);
  const auto ones = std::count(gold.begin(), gold.end(), 1.0);
  return zeros > 0 && ones > 0 && zeros + ones == static_cast<std::ptrdiff_t>(gold.size());
}

}  // namespace

Statistic make_statistic(const Predictions& predictions, const std::string& metric,
                         const Report* report) {
  if (predictions.kind == PredictionKind::kQueries) return query_statistic(predictions, metric);
  for (const MetricRow& row : metric_table()) {
    if (row.name != metric || !is_task_of(predictions.kind, row.task)) continue;
    // A threshold is a choice on all examples, not a figure of some of them.
    return row.unit == MetricUnit::kScore ? nullptr : row.of(answers_of(predictions, report));
  }
  return nullptr;
}

bool gives_reported(const Statistic& statistic, const Predictions& predictions, double reported) {
  return std::abs(statistic(all_positions(predictions.left.size())) - reported) < kAgreement;
}

int64_t affordable_samples(int64_t examples, int64_t work) {
  return std::clamp(work / std::max<int64_t>(examples, 1), kFewestSamples, kMostSamples);
}

void add_intervals(const Predictions& predictions, Report& report) {
  if (predictions.size() == 0) return;
  const int64_t samples = affordable_samples(predictions.size(), kWork);
  for (const auto& [metric, value] : report.metrics) {
    const Statistic statistic = make_statistic(predictions, metric, &report);
    if (!statistic || !gives_reported(statistic, predictions, value)) continue;
    report.intervals.emplace_back(
        metric, bootstrap_interval(predictions.size(), statistic, kIntervalConfidence, samples, 1));
  }
}

Report report_predictions(const Predictions& predictions) {
  Report report;
  report.examples = predictions.size();
  std::vector<std::string> metrics = predictions.metrics;
  if (predictions.kind == PredictionKind::kQueries) {
    report.task = "ranking";
  } else if (predictions.kind == PredictionKind::kClasses) {
    report.task = "classification";
  } else {
    report.task = is_binary(predictions.gold) ? "pairs" : "sts";
  }
  for (const MetricRow& row : metrics_of_task(report.task)) metrics.push_back(row.name);
  const std::vector<int64_t> all = all_positions(predictions.left.size());
  for (const std::string& metric : metrics) {
    const Statistic statistic = make_statistic(predictions, metric, nullptr);
    if (statistic) report.metrics.emplace_back(metric, statistic(all));
  }
  return report;
}

}  // namespace simile
