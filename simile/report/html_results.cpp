// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/metric/significance.h"
#include "simile/report/detail/html.h"
#include "simile/report/plot.h"

namespace simile {
namespace {

// One row of a table of results.
struct ResultRow {
  std::string label;  // HTML
  bool is_baseline = false;
  std::vector<const Report*> reports;  // one per seed or fold
};

std::vector<double> values_of(const ResultRow& row, const std::string& metric) {
  std::vector<double> values;
  for (const Report* report : row.reports) {
    if (const double* value = report->find_metric(metric)) values.push_back(*value);
  }
  return values;
}

std::string show_cell(const ResultRow& row, const std::string& metric, double best) {
  const std::vector<double> values = values_of(row, metric);
  if (values.empty()) return number_cell("\u2013");
  const Spread spread = measure_spread(values);
  std::string text = show_figure(spread.mean, is_fraction(metric));
  if (find_metric_row(metric).better != Better::kNeither && spread.mean == best)
    text = "<strong>" + text + "</strong>";
  if (values.size() > 1) text += " \u00b1 " + show_figure(spread.deviation, is_fraction(metric));
  return number_cell(text);
}

// Adds the baselines of the run's first seed that are not among the rows, each with the reports of
// every seed or fold that has it. The model together with BM25 differs with each seed; other
// baselines are evaluated once, or on every fold. If runs started from different models, baselines
// of one name differ, and the run's name is added to theirs.
void add_baselines(const ShownRun& run, const Report& evaluation, std::vector<ResultRow>& rows) {
  const std::vector<OwnReport> own = own_reports_of(run, evaluation);
  for (const Report& report : run.set.runs[0].reports) {
    if (!is_same_evaluation(report, evaluation)) continue;
    if (!own.empty() && report.model == own[0].report->model) continue;
    std::string label = escape_html(report.model);
    bool seen = false;
    for (const ResultRow& row : rows) {
      if (!row.is_baseline || row.reports[0]->model != report.model) continue;
      label = escape_html(report.model + " (" + run.set.name + ")");
      seen = seen || row.reports[0]->metrics == report.metrics;
    }
    if (seen) continue;
    rows.push_back({label, true, {}});
    for (const RunFiles& seed : run.set.runs) {
      for (const Report& other : seed.reports) {
        const bool is_same = is_same_evaluation(other, report) && other.model == report.model;
        if (is_same) rows.back().reports.push_back(&other);
      }
    }
  }
}

std::string result_table(const std::vector<ShownRun>& runs, const Report& evaluation) {
  std::vector<ResultRow> rows;
  for (const ShownRun& run : runs) {
    ResultRow own{show_run_name(run), false, {}};
    for (const OwnReport& one : own_reports_of(run, evaluation)) own.reports.push_back(one.report);
    if (!own.reports.empty()) rows.push_back(std::move(own));
  }
  for (const ShownRun& run : runs) add_baselines(run, evaluation, rows);
  std::vector<std::string> metrics;
  int64_t examples = 0;
  for (const ResultRow& row : rows) {
    for (const Report* report : row.reports) {
      examples = std::max(examples, report->examples);
      for (const auto& [name, value] : report->metrics) add_once(metrics, name);
    }
  }
  std::map<std::string, double> best;  // mean of each metric
  std::string head = "<td></td>", body;
  for (const std::string& metric : metrics) {
    head += "<th class=\"number\">" + escape_html(metric) + "</th>";
    for (const ResultRow& row : rows) {
      const std::vector<double> values = values_of(row, metric);
      if (values.empty()) continue;
      const double mean = measure_spread(values).mean;
      double& record = best.emplace(metric, mean).first->second;
      const bool is_low = find_metric_row(metric).better == Better::kLower;
      record = is_low ? std::min(record, mean) : std::max(record, mean);
    }
  }
  for (const ResultRow& row : rows) {
    body += (row.is_baseline ? "<tr class=\"baseline\">" : "<tr>") + row_head(row.label);
    for (const std::string& metric : metrics) body += show_cell(row, metric, best.at(metric));
    body += "</tr>\n";
  }
  return fmt::format("<h3>{} <small>{}, {} examples</small></h3>\n",
                     escape_html(title_of(evaluation)), escape_html(evaluation.task), examples) +
         html_table(head, body);
}

constexpr size_t kPoints = 1000;

using Curves = std::vector<Curve> RunLog::*;

// Those to show, in their order: all, or losses and of metrics the first of each evaluation.
std::vector<std::string> curve_names(const std::vector<ShownRun>& runs, Curves curves,
                                     const HtmlReportOptions& options) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const ShownRun& run : runs) {
    for (const RunLog& log : run.logs) {
      for (const Curve& curve : log.*curves) add_once(names, curve.name);
    }
  }
  if (options.curves != "main") return names;
  const auto is_minor = [&](const std::string& name) {
    return curves == &RunLog::evaluations ? !seen.insert(name.substr(0, name.rfind('.'))).second
                                          : !starts_with(name, "loss");
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_minor), names.end());
  return names;
}

// The means of the last 2 `half` + 1 points around each, of fewer near the ends.
void smooth(std::vector<CurvePoint>& points, size_t half) {
  std::vector<double> sums = {0};
  for (const CurvePoint& point : points) sums.push_back(sums.back() + point.y);
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t near = std::min({half, i, points.size() - 1 - i});
    points[i].y = (sums[i + near + 1] - sums[i - near]) / static_cast<double>(2 * near + 1);
  }
}

// Where the stages of a run with several begin; the same place and name of several runs once.
void add_stage_marks(const RunLog& log, std::vector<PlotMark>& marks) {
  if (log.stages.size() < 2) return;
  for (const LoggedStage& stage : log.stages) {
    const PlotMark mark{static_cast<double>(stage.first_step), stage.name};
    const bool seen = std::any_of(marks.begin(), marks.end(), [&mark](const PlotMark& other) {
      return other.x == mark.x && other.label == mark.label;
    });
    if (!seen) marks.push_back(mark);
  }
}

Plot make_plot(const std::vector<ShownRun>& runs, Curves curves, const std::string& name,
               const HtmlReportOptions& options) {
  const bool is_evaluation = curves == &RunLog::evaluations;
  Plot plot;
  plot.title = name;
  if (!is_evaluation) std::replace(plot.title.begin(), plot.title.end(), '_', ' ');
  plot.x_label = "step";
  const std::string metric = name.substr(name.rfind('.') + 1);  // after the data set's name
  const double scale = is_evaluation && is_fraction(metric) ? 100 : 1;
  const bool is_noisy = name.find("loss") != name.npos || name.find("norm") != name.npos;
  plot.first_x = static_cast<double>(options.first_step);
  for (const ShownRun& run : runs) {
    for (size_t r = 0; r < run.logs.size(); ++r) {
      for (const Curve& curve : run.logs[r].*curves) {
        if (curve.name != name) continue;
        const int64_t last = options.last_step > 0 ? options.last_step : run.logs[r].steps;
        plot.last_x = std::max(plot.last_x, static_cast<double>(last));
        add_stage_marks(run.logs[r], plot.marks);
        const std::string folder = std::filesystem::path(run.set.runs[r].path).filename();
        const std::string label = run.logs.size() == 1 ? run.set.name : run.set.name + " " + folder;
        PlotLine line{label, {}, run.series, is_evaluation && curve.points.size() <= 60};
        for (const CurvePoint& point : curve.points) {
          const bool is_shown =
              point.x >= plot.first_x &&
              (options.last_step == 0 || point.x <= static_cast<double>(options.last_step));
          if (is_shown) line.points.push_back(point);
        }
        line.points = thin_curve(line.points, kPoints);
        if (!is_evaluation && is_noisy) smooth(line.points, static_cast<size_t>(options.smooth));
        for (CurvePoint& point : line.points) point.y *= scale;
        plot.lines.push_back(std::move(line));
      }
    }
  }
  return plot;
}

std::string show_plots(const std::vector<ShownRun>& runs, Curves curves,
                       const HtmlReportOptions& options) {
  std::string figures;
  for (const std::string& name : curve_names(runs, curves, options)) {
    const Plot plot = make_plot(runs, curves, name, options);
    figures += html_figure(escape_html(plot.title), plot_to_svg(plot));
  }
  return figure_grid(figures);
}

}  // namespace

std::string results_part(const std::vector<ShownRun>& runs) {
  std::string html;
  for (const Report* evaluation : evaluations_of(runs)) html += result_table(runs, *evaluation);
  if (html.empty()) return "";
  return "<p>Fractions \u00d7 100; of several seeds or folds the mean \u00b1 the standard "
         "deviation. The best of a column is bold.</p>\n" +
         html;
}

std::string curves_part(const std::vector<ShownRun>& runs, const HtmlReportOptions& options) {
  const std::string training = show_plots(runs, &RunLog::training, options);
  const std::string evaluations = show_plots(runs, &RunLog::evaluations, options);
  if (training.empty() && evaluations.empty()) return "";
  std::string html = "<p class=\"legend\">";
  for (const ShownRun& run : runs) {
    html += "<span>" + show_run_name(run);
    if (run.set.runs.size() > 1) {
      html += fmt::format(" ({} {})", run.set.runs.size(), run.set.unit());
    }
    html += "</span> ";
  }
  html += "</p>\n";
  if (!evaluations.empty()) html += "<h3>Evaluations</h3>\n" + evaluations;
  if (!training.empty()) html += "<h3>Training</h3>\n" + training;
  return html;
}

}  // namespace simile
