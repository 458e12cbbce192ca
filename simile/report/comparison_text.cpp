// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "simile/core/text_table.h"
#include "simile/eval/report.h"
#include "simile/report/comparison.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

std::string show_value(const ComparedMetric& metric, double value, bool with_sign = false) {
  return show_figure(value, is_fraction(metric.name), with_sign);
}

std::string show_spread(const ComparedMetric& metric, const Spread& spread, size_t runs) {
  const std::string mean = show_value(metric, spread.mean);
  return runs < 2 ? mean : mean + " +- " + show_value(metric, spread.deviation);
}

// What a comparison has at all; columns and explanations follow it.
struct Shown {
  explicit Shown(const Comparison& comparison) {
    for (const ComparedReport& report : comparison.reports) {
      for (const ComparedMetric& metric : report.metrics) {
        tests = tests || metric.t_test;
        random_signs = random_signs || (metric.permutation && !metric.permutation->exact);
        intervals = intervals || metric.interval;
      }
    }
  }
  bool tests = false, random_signs = false, intervals = false;
};

std::vector<std::string> table_head(const Shown& shows) {
  std::vector<std::string> head = {"", "A", "B", "B - A  "};
  if (shows.intervals) head.push_back("95 %");
  if (shows.tests) head.insert(head.end(), {"t-test p", "permutation p"});
  return head;
}

std::vector<std::string> table_row(const ComparedMetric& metric, const Shown& shows) {
  std::vector<std::string> row = {
      metric.name, show_spread(metric, metric.a, metric.a_values.size()),
      show_spread(metric, metric.b, metric.b_values.size()),
      fmt::format("{} {:1}", show_value(metric, metric.difference, true),
                  metric.t_test ? significance_mark(metric.t_test->p) : "")};
  if (shows.intervals) {
    row.push_back(metric.interval
                      ? fmt::format("[{}, {}]", show_value(metric, metric.interval->low, true),
                                    show_value(metric, metric.interval->high, true))
                      : "-");
  }
  if (shows.tests) {
    row.push_back(metric.t_test ? show_p(metric.t_test->p) : "-");
    row.push_back(metric.permutation ? show_p(metric.permutation->p) : "-");
  }
  return row;
}

std::string describe_side(const char* letter, const ComparedSide& side) {
  std::string text = fmt::format("{}: {}", letter, side.path);
  if (side.has_folds) return text + fmt::format(" ({} folds)\n", side.runs);
  if (side.seeds.empty()) return text + "\n";
  return text + fmt::format(" ({} {}, seed{} {})\n", side.runs, side.runs == 1 ? "run" : "runs",
                            side.runs == 1 ? "" : "s", fmt::join(side.seeds, " "));
}

std::string explain(const Comparison& comparison, const Shown& shows) {
  const ComparisonOptions& options = comparison.options;
  std::string text = shows.tests || shows.intervals ? "\n" : "";
  if (shows.tests) {
    text +=
        fmt::format("p: paired over {} {}; * p < 0.05, _ p < 0.1 (t-test). Permutations: {}.\n",
                    comparison.a.runs, comparison.a.has_folds ? "folds" : "seeds",
                    shows.random_signs ? fmt::format("{} random ones", options.samples)
                                       : fmt::format("all {}", int64_t{1} << comparison.a.runs));
  }
  if (shows.intervals) {
    text +=
        fmt::format("95 %: bootstrap interval of B - A over the examples ({} samples, seed {}).\n",
                    options.samples, options.seed);
  }
  return text;
}

Json side_to_json(const ComparedSide& side) {
  return {{"path", side.path}, {"runs", side.runs}, {"seeds", side.seeds}};
}

Json spread_to_json(const Spread& spread, const std::vector<double>& values) {
  return {{"mean", spread.mean}, {"deviation", spread.deviation}, {"values", values}};
}

Json metric_to_json(const ComparedMetric& metric, const ComparisonOptions& options) {
  Json json = {{"metric", metric.name},
               {"a", spread_to_json(metric.a, metric.a_values)},
               {"b", spread_to_json(metric.b, metric.b_values)},
               {"difference", metric.difference}};
  if (metric.t_test) {
    // JSON has no infinity: t is null when all differences are equal.
    json["t_test"] = {
        {"t", metric.t_test->t}, {"degrees", metric.t_test->degrees}, {"p", metric.t_test->p}};
  }
  if (metric.permutation) {
    json["permutation_test"] = {{"p", metric.permutation->p},
                                {"permutations", metric.permutation->permutations},
                                {"exact", metric.permutation->exact}};
  }
  if (metric.interval) {
    json["interval"] = {{"low", metric.interval->low},
                        {"high", metric.interval->high},
                        {"confidence", kIntervalConfidence},
                        {"samples", options.samples}};
  }
  return json;
}

}  // namespace

std::string Comparison::to_table() const {
  const Shown shows(*this);
  std::string text = describe_side("A", a) + describe_side("B", b);
  for (const ComparedReport& report : reports) {
    text += fmt::format("\n{} ({}{} examples)\n", report.name.empty() ? report.task : report.name,
                        report.name.empty() ? "" : report.task + ", ", report.examples);
    TableRows rows = {table_head(shows)};
    for (const ComparedMetric& metric : report.metrics) rows.push_back(table_row(metric, shows));
    text += text_table(rows, {2, "lr"});
  }
  return text + explain(*this, shows);
}

std::string Comparison::to_json() const {
  Json json = {{"a", side_to_json(a)}, {"b", side_to_json(b)},     {"samples", options.samples},
               {"seed", options.seed}, {"reports", Json::array()}, {"warnings", warnings}};
  for (const ComparedReport& report : reports) {
    Json compared = {{"task", report.task},
                     {"name", report.name},
                     {"examples", report.examples},
                     {"metrics", Json::array()}};
    for (const ComparedMetric& metric : report.metrics) {
      compared["metrics"].push_back(metric_to_json(metric, options));
    }
    json["reports"].push_back(std::move(compared));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace simile
