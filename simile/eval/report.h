// SPDX-License-Identifier: Apache-2.0
// The report of one evaluation, and the table of metrics, a row each: name, the task that reports
// it, its format, which end is better, and its computation from a model's answers. Tasks,
// intervals, reports and comparisons ask this table.
//
//   task            metrics, in the order of reports                defined in
//   sts             spearman pearson                                metric/correlation.h
//   pairs           f1 accuracy ap mcc threshold f1_threshold       metric/classification.h
//   classification  accuracy macro_f1                               metric/classification.h
//   geometry        alignment uniformity mean_cosine pc@1 pc@10     kernel/numerics.h
//   ranking         as asked for: ndcg@10 ...                       metric/ranking.h
//   pre-training    masked_accuracy perplexity
//
// A set of several files has spearman_mean, spearman_wmean and spearman:FILE besides, which are
// shown as spearman is. Metrics are fractions unless their row says otherwise; tables show x 100.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/score_fusion.h"
#include "simile/metric/significance.h"

namespace simile {

// The data that metrics are computed from. Members that a task does not have stay empty.
struct Answers {
  std::vector<double> gold, score;  // sts; pairs: gold 0 or 1
  // pairs: chosen on other pairs or on these; NaN: not known.
  double threshold = std::numeric_limits<double>::quiet_NaN();     // for accuracy
  double f1_threshold = std::numeric_limits<double>::quiet_NaN();  // for f1 and mcc
  std::vector<int64_t> gold_class, predicted;                      // classification, from 0
  int64_t classes = 0;
  Matrix<float> left, right, texts;  // geometry: vectors of positive pairs, and of distinct texts
  std::vector<double> shares;        // geometry: principal_shares(texts)
};

enum class MetricUnit {
  kFraction,  // shown x 100
  kNumber,    // shown as it is
  kScore,     // in the unit of the scores, so that no mean is taken over sets
};
enum class Better { kHigher, kLower, kNeither };

struct MetricRow {
  std::string name, task;
  MetricUnit unit = MetricUnit::kFraction;
  Better better = Better::kHigher;
  // The metric of any choice of the examples; empty where the answers lack something. Null for
  // metrics that are computed elsewhere.
  Statistic (*of)(const Answers& answers) = nullptr;
};

const std::vector<MetricRow>& metric_table();

// Rows of a task, in the order of reports.
std::vector<MetricRow> metrics_of_task(const std::string& task);

// The row of a metric that a report names. An unknown one is a fraction, and higher is better.
MetricRow find_metric_row(const std::string& name);

// Is a metric of this name a fraction, which tables show x 100?
bool is_fraction(const std::string& name);

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
  // 95 %, over the examples, by metric: after add_intervals(), of those that have one.
  std::vector<std::pair<std::string, Interval>> intervals = {};

  const double* find_metric(const std::string& metric_name) const;  // null where there is none
  // The metric, or ErrorKind::kRecipe with the names there are.
  double metric(const std::string& metric_name) const;

  // {"task":..,"model":..,"examples":n,"metrics":{..}} with "intervals":{METRIC:{"low":..,
  // "high":..}}, "name", "notes", "confusion":{"classes":[..],"matrix":[[..]]} and
  // "hybrid":{"weight":..,"rule":..} where there are any, in one line.
  std::string to_json() const;
};

// A JSON array of them.
std::string reports_to_json(const std::vector<Report>& reports);

// EVALUATION.METRIC, the figure of a report by its name, as recipes and tables give it, taken apart
// at the first dot; without one all of it is the evaluation and the metric empty.
struct FigureName {
  std::string evaluation, metric;
};
FigureName split_figure_name(const std::string& name);

// Reads the output of Report::to_json(), except intervals, confusion matrix and hybrid. Missing
// members become empty, null values are left out. Errors (kInput): another form.
Report parse_report(const std::string& json, const std::string& path);

// The unweighted mean of one or more reports: of each metric that all of them have, except those in
// the unit of the scores (MetricUnit::kScore). Task and model are the first's.
Report mean_report(const std::vector<Report>& reports);

// Mean and sample standard deviation, over one or more runs of the same evaluation, of each metric
// that all of them have. They are named "mean" and "sd"; the rest is the first run's.
std::array<Report, 2> mean_and_deviation(const std::vector<Report>& runs);

// A table for people: one row per metric and one column per report (a model against baselines). Of
// reports on parts of a set the head counts the examples of the largest. Reports of different tasks
// or sets follow one another, each under its own head. Notes follow, and then a confusion matrix of
// up to 20 classes for each model.
std::string to_table(const std::vector<Report>& reports);

}  // namespace simile
