// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/prediction_metric.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/metric/classification.h"
#include "simile/metric/correlation.h"
#include "simile/metric/sorted_values.h"
#include "simile/metric/threshold.h"

namespace simile {
namespace {

using Positions = std::vector<int64_t>;

constexpr int64_t kMostSamples = 10000, kFewestSamples = 1000;
constexpr int64_t kWork = 20000000;  // examples drawn for a metric
constexpr double kAgreement = 1e-6;  // of what is reported and what predictions give

template <typename T>
std::vector<T> choose(const std::vector<T>& values, const Positions& positions) {
  std::vector<T> chosen;
  chosen.reserve(positions.size());
  for (const int64_t position : positions) chosen.push_back(values[static_cast<size_t>(position)]);
  return chosen;
}

std::vector<int> binary_labels(const std::vector<double>& gold) {
  std::vector<int> labels;
  for (const double value : gold) labels.push_back(value != 0 ? 1 : 0);
  return labels;
}

Statistic spearman_statistic(const Predictions& predictions) {
  return [gold = SortedValues(predictions.gold), score = SortedValues(predictions.score)](
             const Positions& at) { return pearson(score.ranks(at), gold.ranks(at)); };
}

Statistic pearson_statistic(const Predictions& predictions) {
  return [gold = predictions.gold, score = predictions.score](const Positions& at) {
    return pearson(choose(score, at), choose(gold, at));
  };
}

Statistic threshold_statistic(const Predictions& predictions, double threshold,
                              double (BinaryCounts::*value)() const) {
  return [scores = predictions.score, labels = binary_labels(predictions.gold), threshold,
          value](const Positions& at) {
    return (apply_threshold(choose(scores, at), choose(labels, at), threshold).*value)();
  };
}

Statistic score_statistic(const Predictions& predictions, const std::string& metric,
                          const Report* report) {
  if (metric == "spearman") return spearman_statistic(predictions);
  if (metric == "pearson") return pearson_statistic(predictions);
  if (metric == "ap") return AveragePrecision(predictions.score, binary_labels(predictions.gold));
  const std::map<std::string, double (BinaryCounts::*)() const> counted = {
      {"accuracy", &BinaryCounts::accuracy},
      {"mcc", &BinaryCounts::mcc},
      {"f1", &BinaryCounts::f1}};
  const auto found = counted.find(metric);
  if (found == counted.end() || report == nullptr) return nullptr;
  for (const auto& [name, threshold] : report->metrics) {
    if (name == (metric == "accuracy" ? "threshold" : "f1_threshold")) {
      return threshold_statistic(predictions, threshold, found->second);
    }
  }
  return nullptr;
}

Statistic class_statistic(const Predictions& predictions, const std::string& metric) {
  if (metric != "accuracy" && metric != "macro_f1") return nullptr;
  std::map<std::string, int64_t> numbers;
  const auto number_all = [&numbers](const std::vector<std::string>& names) {
    std::vector<int64_t> classes;
    for (const std::string& name : names) {
      classes.push_back(numbers.emplace(name, static_cast<int64_t>(numbers.size())).first->second);
    }
    return classes;
  };
  const std::vector<int64_t> gold = number_all(predictions.gold_class);
  const std::vector<int64_t> predicted = number_all(predictions.predicted);
  const auto classes = static_cast<int64_t>(numbers.size());
  return [gold, predicted, classes, accuracy = metric == "accuracy"](const Positions& at) {
    const ClassificationScores scores =
        score_classes(choose(gold, at), choose(predicted, at), classes);
    return accuracy ? scores.accuracy : scores.macro_f1;
  };
}

Statistic query_statistic(const Predictions& predictions, const std::string& metric) {
  const auto found = std::find(predictions.metrics.begin(), predictions.metrics.end(), metric);
  if (found == predictions.metrics.end()) return nullptr;
  const auto column = static_cast<size_t>(found - predictions.metrics.begin());
  return [values = predictions.values[column]](const Positions& at) {
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
  switch (predictions.kind) {
    case PredictionKind::kScores:
      return score_statistic(predictions, metric, report);
    case PredictionKind::kClasses:
      return class_statistic(predictions, metric);
    case PredictionKind::kQueries:
      return query_statistic(predictions, metric);
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
  std::vector<std::string> metrics;
  if (predictions.kind == PredictionKind::kQueries) {
    report.task = "ranking";
    metrics = predictions.metrics;
  } else if (predictions.kind == PredictionKind::kClasses) {
    report.task = "classification";
    metrics = {"accuracy", "macro_f1"};
  } else {
    const bool pairs = is_binary(predictions.gold);
    report.task = pairs ? "pairs" : "sts";
    metrics =
        pairs ? std::vector<std::string>{"ap"} : std::vector<std::string>{"spearman", "pearson"};
  }
  const Positions all = all_positions(predictions.left.size());
  for (const std::string& metric : metrics) {
    report.metrics.emplace_back(metric, make_statistic(predictions, metric, nullptr)(all));
  }
  return report;
}

}  // namespace simile
