// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/tested_metrics.h"

#include <algorithm>
#include <utility>

namespace simile {
namespace {

using Outcomes = std::vector<RunOutcome>;

bool has_name(const std::vector<EvaluationOptions>& evaluations, const std::string& name) {
  return std::any_of(evaluations.begin(), evaluations.end(),
                     [&](const auto& evaluation) { return evaluation.name == name; });
}

const double* find_metric(const RunOutcome& outcome, const std::string& evaluation,
                          const std::string& metric) {
  for (const Report& report : outcome.reports) {
    if (report.name == evaluation) return report.find_metric(metric);
  }
  return nullptr;
}

TestedMetric compare_metric(const std::string& evaluation, const std::string& metric,
                            const Outcomes& own, const Outcomes& best) {
  TestedMetric tested{evaluation + "." + metric, {}, {}, {}};
  for (size_t i = 0; i < own.size(); ++i) {
    const double* const a = find_metric(own[i], evaluation, metric);
    const double* const b = find_metric(best[i], evaluation, metric);
    if (a == nullptr || b == nullptr) continue;
    tested.own.push_back(*a);
    tested.best.push_back(*b);
  }
  if (tested.own.size() > 1) tested.t_test = paired_t_test(tested.own, tested.best);
  return tested;
}

}  // namespace

std::vector<TestedMetric> compare_tests(const TrainOptions& recipe, const Outcomes& own,
                                        const Outcomes& best) {
  const auto& shown = recipe.tests.empty() ? recipe.evaluations : recipe.tests;
  std::vector<TestedMetric> all;
  const auto add = [&](const std::string& evaluation, const std::string& metric) {
    TestedMetric tested = compare_metric(evaluation, metric, own, best);
    const bool is_there = std::any_of(
        all.begin(), all.end(), [&](const TestedMetric& one) { return one.name == tested.name; });
    if (!is_there && !tested.own.empty()) all.push_back(std::move(tested));
  };
  for (const Outcomes* outcomes : {&own, &best}) {  // the first may have failed
    for (const RunOutcome& outcome : *outcomes) {
      for (const Report& report : outcome.reports) {
        if (!has_name(shown, report.name)) continue;
        for (const auto& metric : report.metrics) add(report.name, metric.first);
      }
    }
  }
  return all;
}

}  // namespace simile
