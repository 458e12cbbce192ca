// SPDX-License-Identifier: Apache-2.0
#include "simile/report/example_interval.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/metric/significance.h"
#include "simile/report/detail/side_examples.h"

namespace simile {

std::optional<FigureInterval> example_interval(const std::vector<std::string>& folders,
                                               const std::string& metric, int64_t samples,
                                               std::string& problem) {
  const FigureName figure = split_figure_name(metric);
  ComparedRuns side = read_compared_runs(metric, folders);
  sort_runs(side);
  std::vector<size_t> places;
  for (const ComparedRuns::Run& run : side.runs) {
    const auto found =
        std::find_if(run.reports.begin(), run.reports.end(),
                     [&](const Report& report) { return report.name == figure.evaluation; });
    if (found == run.reports.end()) {
      problem = fmt::format("a run has no evaluation '{}'", figure.evaluation);
      return std::nullopt;
    }
    places.push_back(static_cast<size_t>(found - run.reports.begin()));
  }
  const SideExamples examples(side, places);
  if (examples.are_missing()) {
    problem = fmt::format("a run has no predictions of '{}'", figure.evaluation);
    return std::nullopt;
  }
  problem = fmt::format("{} is not computed from predictions", metric);
  const Statistic statistic = examples.statistic(figure.metric, problem);
  if (!statistic) return std::nullopt;
  problem.clear();
  return FigureInterval{
      statistic(all_positions(examples.count())),
      bootstrap_interval(examples.count(), statistic, kIntervalConfidence, samples, 1)};
}

}  // namespace simile
