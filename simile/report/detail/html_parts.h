// SPDX-License-Identifier: Apache-2.0
// The parts of the page that html_report() puts together. Each is empty when there is nothing to
// show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/report/run_files.h"
#include "simile/report/run_log.h"

namespace simile {

// One run folder given: a series in every plot, whatever the number of its seeds.
struct ShownRun {
  RunSet set;
  std::vector<RunLog> logs;  // one per run; empty where there is none yet
  int series = 0;
};

// The run's name with its colour before it.
std::string show_run_name(const ShownRun& run);

std::string results_part(const std::vector<ShownRun>& runs);
std::string curves_part(const std::vector<ShownRun>& runs);
std::string errors_part(const std::vector<ShownRun>& runs, int64_t count);
std::string lengths_part(const std::vector<ShownRun>& runs);
std::string recipe_part(const std::vector<ShownRun>& runs);
std::string environment_part(const std::vector<ShownRun>& runs);

// An evaluation of the reports of some run, told apart by task and name.
struct EvaluationName {
  std::string task, name;
  std::string title() const { return name.empty() ? task : name; }
};
std::vector<EvaluationName> evaluations_of(const std::vector<ShownRun>& runs);

// The first run's own report of the evaluation; null where it has none.
struct OwnReport {
  const RunFiles* run = nullptr;
  Report report;
};
std::vector<OwnReport> own_reports_of(const ShownRun& run, const EvaluationName& evaluation);

}  // namespace simile
