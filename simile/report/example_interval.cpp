// SPDX-License-Identifier: Apache-2.0
#include "simile/report/example_interval.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/metric/sorted_values.h"
#include "simile/report/detail/side_examples.h"

namespace simile {
namespace {

constexpr double kConfidence = 0.95;

}  // namespace

std::optional<FigureInterval> example_interval(const std::vector<std::string>& folders,
                                               const std::string& metric, int64_t samples,
                                               std::string& problem) {
  const size_t dot = metric.find('.');
  const std::string evaluation = metric.substr(0, dot);
  ComparedRuns side = read_compared_runs(metric, folders);
  sort_runs(side);
  std::vector<size_t> places;
  for (const ComparedRuns::Run& run : side.runs) {
    const auto found =
        std::find_if(run.reports.begin(), run.reports.end(),
                     [&](const Report& report) { return report.name == evaluation; });
    if (found == run.reports.end()) {
      problem = fmt::format("a run has no evaluation '{}'", evaluation);
      return std::nullopt;
    }
    places.push_back(static_cast<size_t>(found - run.reports.begin()));
  }
  const SideExamples examples(side, places);
  if (examples.are_missing()) {
    problem = fmt::format("a run has no predictions of '{}'", evaluation);
    return std::nullopt;
  }
  problem = fmt::format("{} is not computed from predictions", metric);
  const Statistic statistic = examples.statistic(metric.substr(dot + 1), problem);
  if (!statistic) return std::nullopt;
  problem.clear();
  return FigureInterval{statistic(all_positions(examples.count())),
                        bootstrap_interval(examples.count(), statistic, kConfidence, samples, 1)};
}

}  // namespace simile
