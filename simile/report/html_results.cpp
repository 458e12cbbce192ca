// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "simile/core/text_table.h"
#include "simile/metric/significance.h"
#include "simile/report/detail/html.h"

namespace simile {
namespace {

// One row of a table of results.
struct ResultRow {
  std::string label;  // HTML
  bool is_baseline = false;
  std::vector<Report> reports;  // one per seed or fold
};

std::vector<double> values_of(const ResultRow& row, const std::string& metric) {
  std::vector<double> values;
  for (const Report& report : row.reports) {
    if (const double* value = report.find_metric(metric)) values.push_back(*value);
  }
  return values;
}

std::string show_cell(const ResultRow& row, const std::string& metric, double best) {
  const std::vector<double> values = values_of(row, metric);
  if (values.empty()) return number_cell("\u2013");
  const Spread spread = measure_spread(values);
  std::string text = show_figure(spread.mean, is_fraction(metric));
  if (is_fraction(metric) && spread.mean == best) text = "<strong>" + text + "</strong>";
  if (values.size() > 1) text += " \u00b1 " + show_figure(spread.deviation, is_fraction(metric));
  return number_cell(text);
}

// The same of every seed or fold that has it: the model together with BM25 is another with each,
// other baselines are evaluated once, or on every fold.
std::vector<Report> of_all_seeds(const ShownRun& run, const Report& like) {
  std::vector<Report> reports;
  for (const RunFiles& seed : run.set.runs) {
    for (const Report& report : seed.reports) {
      const bool is_same =
          report.task == like.task && report.name == like.name && report.model == like.model;
      if (is_same) reports.push_back(report);
    }
  }
  return reports;
}

// Baselines of all runs. Those of one name differ where the runs began with different models: then
// the run's name stands with them.
std::vector<ResultRow> baseline_rows(const std::vector<ShownRun>& runs,
                                     const EvaluationName& evaluation) {
  std::vector<ResultRow> rows;
  for (const ShownRun& run : runs) {
    const std::vector<OwnReport> own = own_reports_of(run, evaluation);
    for (const Report& report : run.set.runs[0].reports) {
      if (report.task != evaluation.task || report.name != evaluation.name) continue;
      if (!own.empty() && report.model == own[0].report.model) continue;
      std::string label = escape_html(report.model);
      bool seen = false;
      for (const ResultRow& row : rows) {
        if (row.reports[0].model != report.model) continue;
        label = escape_html(report.model + " (" + run.set.name + ")");
        seen = seen || row.reports[0].metrics == report.metrics;
      }
      if (!seen) rows.push_back({label, true, of_all_seeds(run, report)});
    }
  }
  return rows;
}

std::vector<ResultRow> result_rows(const std::vector<ShownRun>& runs,
                                   const EvaluationName& evaluation) {
  std::vector<ResultRow> rows;
  for (const ShownRun& run : runs) {
    ResultRow own{show_run_name(run), false, {}};
    for (OwnReport& report : own_reports_of(run, evaluation)) {
      own.reports.push_back(std::move(report.report));
    }
    if (!own.reports.empty()) rows.push_back(std::move(own));
  }
  const std::vector<ResultRow> baselines = baseline_rows(runs, evaluation);
  rows.insert(rows.end(), baselines.begin(), baselines.end());
  return rows;
}

std::vector<std::string> metrics_of(const std::vector<ResultRow>& rows) {
  std::vector<std::string> names;
  for (const ResultRow& row : rows) {
    for (const Report& report : row.reports) {
      for (const auto& [name, value] : report.metrics) add_once(names, name);
    }
  }
  return names;
}

// The highest mean of each metric.
std::map<std::string, double> best_means(const std::vector<ResultRow>& rows,
                                         const std::vector<std::string>& metrics) {
  std::map<std::string, double> best;
  for (const std::string& metric : metrics) {
    for (const ResultRow& row : rows) {
      const std::vector<double> values = values_of(row, metric);
      if (values.empty()) continue;
      const double mean = measure_spread(values).mean;
      const auto added = best.emplace(metric, mean);
      added.first->second = std::max(added.first->second, mean);
    }
  }
  return best;
}

std::string result_table(const std::vector<ShownRun>& runs, const EvaluationName& evaluation) {
  const std::vector<ResultRow> rows = result_rows(runs, evaluation);
  const std::vector<std::string> metrics = metrics_of(rows);
  const std::map<std::string, double> best = best_means(rows, metrics);
  int64_t examples = 0;
  for (const ResultRow& row : rows) {
    for (const Report& report : row.reports) examples = std::max(examples, report.examples);
  }
  std::string head = "<th></th>", body;
  for (const std::string& metric : metrics) {
    head += "<th class=\"number\">" + escape_html(metric) + "</th>";
  }
  for (const ResultRow& row : rows) {
    body += (row.is_baseline ? "<tr class=\"baseline\">" : "<tr>") + row_head(row.label);
    for (const std::string& metric : metrics) body += show_cell(row, metric, best.at(metric));
    body += "</tr>\n";
  }
  return fmt::format("<h3>{} <small>{}, {} examples</small></h3>\n",
                     escape_html(evaluation.title()), escape_html(evaluation.task), examples) +
         html_table(head, body);
}

}  // namespace

std::string results_part(const std::vector<ShownRun>& runs) {
  std::string html;
  for (const EvaluationName& evaluation : evaluations_of(runs)) {
    html += result_table(runs, evaluation);
  }
  if (html.empty()) return "";
  return "<p>Fractions \u00d7 100; of several seeds or folds the mean \u00b1 the standard "
         "deviation. The "
         "best of a column is bold.</p>\n" +
         html;
}

}  // namespace simile
