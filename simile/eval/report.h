// SPDX-License-Identifier: Apache-2.0
// The outcome of one evaluation. Metrics are fractions; tables show them x 100.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simile {

struct Report {
  std::string task;  // "sts", "pairs", "ranking"
  std::string name;  // of the data set; may be empty
  std::string model;
  int64_t examples = 0;                                 // pairs, or queries that count
  std::vector<std::pair<std::string, double>> metrics;  // in the order to show
  std::vector<std::string> notes;                       // what a reader of the numbers should know

  // The metric, or ErrorKind::kRecipe with the names there are.
  double metric(const std::string& metric_name) const;

  // {"task":..,"model":..,"examples":n,"metrics":{..}} with "name" and "notes" where there are any,
  // in one line.
  std::string to_json() const;
};

// A table for people: one row per metric and one column per report (a model against baselines), x
// 100 with two decimals; thresholds and perplexity as they are. Reports of different tasks or sets
// follow one another, each under its own head. Notes stand below.
std::string to_table(const std::vector<Report>& reports);

}  // namespace simile
