// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "simile/report/detail/html.h"
#include "simile/report/detail/html_parts.h"
#include "simile/report/plot.h"

namespace simile {
namespace {

constexpr size_t kPoints = 1000;

using Curves = std::vector<Curve> RunLog::*;

std::vector<std::string> curve_names(const std::vector<ShownRun>& runs, Curves curves) {
  std::vector<std::string> names;
  for (const ShownRun& run : runs) {
    for (const RunLog& log : run.logs) {
      for (const Curve& curve : log.*curves) {
        const bool seen = std::find(names.begin(), names.end(), curve.name) != names.end();
        if (!seen) names.push_back(curve.name);
      }
    }
  }
  return names;
}

std::string line_label(const ShownRun& run, size_t r) {
  if (run.set.runs.size() == 1) return run.set.name;
  return run.set.name + " " + std::filesystem::path(run.set.runs[r].path).filename().string();
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

Plot make_plot(const std::vector<ShownRun>& runs, Curves curves, const std::string& name) {
  const bool is_evaluation = curves == &RunLog::evaluations;
  Plot plot;
  plot.title = name;
  if (!is_evaluation) std::replace(plot.title.begin(), plot.title.end(), '_', ' ');
  plot.x_label = "step";
  const std::string metric = name.substr(name.rfind('.') + 1);  // after the data set's name
  const double scale = is_evaluation && is_fraction(metric) ? 100 : 1;
  for (const ShownRun& run : runs) {
    for (size_t r = 0; r < run.logs.size(); ++r) {
      for (const Curve& curve : run.logs[r].*curves) {
        if (curve.name != name) continue;
        plot.last_x = std::max(plot.last_x, static_cast<double>(run.logs[r].steps));
        add_stage_marks(run.logs[r], plot.marks);
        PlotLine line{line_label(run, r), thin_curve(curve.points, kPoints), run.series,
                      is_evaluation && curve.points.size() <= 60};
        for (CurvePoint& point : line.points) point.y *= scale;
        plot.lines.push_back(std::move(line));
      }
    }
  }
  return plot;
}

std::string show_plots(const std::vector<ShownRun>& runs, Curves curves) {
  std::string html;
  for (const std::string& name : curve_names(runs, curves)) {
    const Plot plot = make_plot(runs, curves, name);
    const std::string svg = plot_to_svg(plot);
    if (svg.empty()) continue;
    html +=
        "<figure><figcaption>" + escape_html(plot.title) + "</figcaption>\n" + svg + "</figure>\n";
  }
  return html.empty() ? "" : "<div class=\"plots\">\n" + html + "</div>\n";
}

std::string legend(const std::vector<ShownRun>& runs) {
  std::string html = "<p class=\"legend\">";
  for (const ShownRun& run : runs) {
    html += "<span>" + show_run_name(run);
    if (run.set.runs.size() > 1)
      html += fmt::format(" ({} {})", run.set.runs.size(), run.set.unit());
    html += "</span> ";
  }
  return html + "</p>\n";
}

}  // namespace

std::string curves_part(const std::vector<ShownRun>& runs) {
  const std::string training = show_plots(runs, &RunLog::training);
  const std::string evaluations = show_plots(runs, &RunLog::evaluations);
  if (training.empty() && evaluations.empty()) return "";
  std::string html = legend(runs);
  if (!evaluations.empty()) html += "<h3>Evaluations</h3>\n" + evaluations;
  if (!training.empty()) html += "<h3>Training</h3>\n" + training;
  return html;
}

}  // namespace simile
