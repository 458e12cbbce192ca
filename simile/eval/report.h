// SPDX-License-Identifier: Apache-2.0
// The outcome of one evaluation. Metrics are fractions; tables show them x 100.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/eval/metric_table.h"
#include "simile/index/score_fusion.h"
#include "simile/metric/significance.h"

namespace simile {

struct ConfusionMatrix {
  std::vector<std::string> classes;
  Matrix<int64_t> counts;  // [classes, classes]: examples by gold (row) and predicted (column)
};

struct Report {
  std::string task;  // "sts", "pairs", "ranking", "classification", "geometry"
  std::string name;  // of the data set; may be empty
  std::string model;
  int64_t examples = 0;                                 // pairs, texts, or queries that count
  std::vector<std::pair<std::string, double>> metrics;  // in the order to show
  std::vector<std::string> notes;                       // what a reader of the numbers should know
  ConfusionMatrix confusion = {};                       // without classes: there is none
  std::optional<FusionOptions> chosen_fusion = {};      // of a hybrid whose weight dev chose
  // 95 %, over the examples, by metric: where asked for (add_intervals()), and of those that have
  // one.
  std::vector<std::pair<std::string, Interval>> intervals = {};

  const double* find_metric(const std::string& metric_name) const;  // null where there is none
  // The metric, or ErrorKind::kRecipe with the names there are.
  double metric(const std::string& metric_name) const;

  // {"task":..,"model":..,"examples":n,"metrics":{..}} with "intervals":{METRIC:{"low":..,
  // "high":..}}, "name", "notes", "confusion":{"classes":[..],"matrix":[[..]]} and
  // "hybrid":{"weight":..,"rule":..} where there are any, in one line.
  std::string to_json() const;
};

// EVALUATION.METRIC, the figure of a report by its name, as recipes and tables give it, taken apart
// at the first dot; without one all of it is the evaluation and the metric empty.
struct FigureName {
  std::string evaluation, metric;
};
FigureName split_figure_name(const std::string& name);

// Reads what Report::to_json() wrote, but for intervals, confusion matrix and hybrid; what is
// missing is empty, and values that are not finite, null in JSON, are left out. Errors (kInput,
// with `path`): not such an object.
Report parse_report(const std::string& json, const std::string& path);

// The unweighted mean of reports, one at least: of each metric that all of them have, but for those
// in the unit of the scores (MetricUnit::kScore). Its task and model are those of the first, its
// name is "mean".
Report mean_report(const std::vector<Report>& reports);

// Of the same evaluation in several runs, one at least: the mean and the sample standard deviation
// of each metric that all of them have. They are called "mean" and "sd", the rest is the first's.
std::array<Report, 2> mean_and_deviation(const std::vector<Report>& runs);

// A table for people: one row per metric and one column per report (a model against baselines), x
// 100 with two decimals; those that are no fractions as they are. Of reports on parts of a set the
// head counts the examples of the largest. Reports of different tasks or
// sets follow one another, each under its own head. Notes stand below, and then confusion matrices
// of up to 20 classes, for each model its own.
std::string to_table(const std::vector<Report>& reports);

}  // namespace simile
