// SPDX-License-Identifier: Apache-2.0
// Every metric that an evaluation reports, a row each: its name, the task that reports it, how it
// is shown, which end is better, and how it is computed from a model's answers. Tasks, intervals,
// reports and comparisons ask this table.
//
//   task            metrics, in the order of reports                     defined in
//   sts             spearman pearson                                     metric/correlation.h
//   pairs           f1 accuracy ap mcc threshold f1_threshold            metric/classification.h
//   classification  accuracy macro_f1                                    metric/classification.h
//   geometry        alignment uniformity mean_cosine pc@1 pc@10 kernel/embedding_geometry.h ranking
//   as asked for: ndcg@10 ...                            metric/ranking.h pre-training
//   masked_accuracy perplexity
//
// A set of several files has spearman_mean, spearman_wmean and spearman:FILE besides, which are
// shown as spearman is.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/metric/significance.h"

namespace simile {

// What metrics are computed from. What a task does not have stays empty.
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

// The row of a metric that a report names. One that is not known is shown as a fraction, and higher
// is better.
MetricRow find_metric_row(const std::string& name);

// Is a metric of this name a fraction, which tables show x 100?
bool is_fraction(const std::string& name);

}  // namespace simile
