// SPDX-License-Identifier: Apache-2.0
#include "simile/train/seeds.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/metric/significance.h"
#include "simile/report/run_folder.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

TrainOptions options_of_run(const TrainOptions& options, int64_t number) {
  TrainOptions run = options;
  run.runs = 1;
  run.seed = options.seed + number;
  if (number == 0) return run;
  run.baselines.clear();
  for (const std::string& baseline : options.baselines) {
    const bool depends_on_seed =
        baseline == "hybrid" || (is_of_start(baseline) && options.model.empty());
    if (depends_on_seed) run.baselines.push_back(baseline);
  }
  return run;
}

size_t find_best(const TrainOptions& options, const std::vector<TrainResult>& runs) {
  size_t best = 0;
  bool is_loss = false;
  for (const StageOptions& stage : options.stages) {
    if (stage.selection.metric.empty()) continue;
    is_loss = selection_rules(stage.selection).direction == "min";
  }
  for (size_t i = 1; i < runs.size(); ++i) {
    const std::optional<double>&value = runs[i].selected_value, &record = runs[best].selected_value;
    if (value && (!record || (is_loss ? *value < *record : *value > *record))) best = i;
  }
  return best;
}

// Of the same evaluation in all runs: the mean of each metric and its sample standard deviation.
std::array<Report, 2> summarise(const std::vector<Report>& runs) {
  Report mean = runs[0], deviation = runs[0];
  mean.model = "mean";
  deviation.model = "sd";
  mean.notes.clear();
  deviation.notes.clear();
  mean.confusion = deviation.confusion = {};
  for (size_t m = 0; m < mean.metrics.size(); ++m) {
    std::vector<double> values;
    for (const Report& run : runs) values.push_back(run.metrics[m].second);
    const Spread spread = measure_spread(values);
    mean.metrics[m].second = spread.mean;
    deviation.metrics[m].second = spread.deviation;
  }
  return {mean, deviation};
}

bool is_same_evaluation(const Report& a, const Report& b) {
  return a.name == b.name && a.task == b.task;
}

// The reports of one model on the same evaluation, of every run that has them; their model is then
// called by `prefix` and the seed.
std::vector<Report> reports_by_seed(const TrainOptions& options,
                                    const std::vector<TrainResult>& runs, size_t best,
                                    const Report& like, const std::string& prefix) {
  std::vector<Report> same;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (Report report : runs[i].reports) {
      if (!is_same_evaluation(report, like) || report.model != prefix + options.name) continue;
      report.model = fmt::format("{}seed {}{}", prefix, options.seed + static_cast<int64_t>(i),
                                 i == best && runs[i].selected_value ? " (best)" : "");
      same.push_back(std::move(report));
    }
  }
  return same;
}

// For each evaluation: every run, mean and deviation; the same together with BM25; the baselines.
std::vector<Report> join_reports(const TrainOptions& options, const std::vector<TrainResult>& runs,
                                 size_t best) {
  const std::string hybrid = hybrid_name("");
  std::vector<Report> all;
  for (const Report& own : runs[0].reports) {
    if (own.model != options.name) continue;
    for (const std::string& prefix : {std::string(), hybrid}) {
      const std::vector<Report> same = reports_by_seed(options, runs, best, own, prefix);
      if (same.empty()) continue;
      all.insert(all.end(), same.begin(), same.end());
      for (Report& summary : summarise(same)) {
        summary.model = prefix + summary.model;
        all.push_back(std::move(summary));
      }
    }
    for (const Report& report : runs[0].reports) {
      const bool is_own = report.model == options.name || report.model == hybrid + options.name;
      if (is_same_evaluation(report, own) && !is_own) all.push_back(report);
    }
  }
  return all;
}

void copy_model(const std::string& from, const std::string& to) {
  AtomicFolder folder(to, "config.json");
  std::error_code error;
  std::filesystem::copy(from, folder.path(), std::filesystem::copy_options::recursive, error);
  SIMILE_CHECK(!error, ErrorKind::kIo, fmt::format("cannot write '{}': {}", to, error.message()));
  folder.commit();
}

}  // namespace

TrainResult train_seeds(const TrainOptions& options, const std::string& path, bool resume,
                        bool overwrite, const TrainOnce& train_once, EventSink& events) {
  const RunFolder folder(path, resume, overwrite);
  if (resume) folder.check_resume(true);
  TrainOptions described = options;
  const std::string recipe = options_to_json(described);
  std::vector<TrainResult> runs;
  std::vector<SeedResult> listed;
  std::vector<Verdict> verdicts;
  for (int64_t i = 0; i < options.runs; ++i) {
    const TrainOptions run = options_of_run(options, i);
    events.info(fmt::format("run {} of {}: seed {}", i + 1, options.runs, run.seed));
    const std::string run_path = folder.seed_path(i + 1);
    const std::string name = std::filesystem::path(run_path).filename();
    runs.push_back(train_once(run, run_path, [&] {
      // Not before: an older run stays as it was when the recipe turns out to be mistaken.
      if (i > 0) return;
      if (!resume) folder.remove_old_run(name);
      folder.write_run(recipe);
    }));
    listed.push_back({run.seed, runs.back().reports, runs.back().selected_value});
    verdicts.push_back(*runs.back().verdict);
    events.info(fmt::format("seed {}: {}", run.seed, verdicts.back().to_line()));
  }
  const size_t best = find_best(options, runs);
  copy_model(runs[best].model_path, folder.model_path());
  TrainResult result;
  result.model_path = folder.model_path();
  result.reports = join_reports(options, runs, best);
  result.selected_value = runs[best].selected_value;
  result.verdict = join_verdicts(verdicts);
  if (result.verdict->start_kept > 0) {
    events.warning(
        fmt::format("NOTHING WAS GAINED by {} of {} runs, which kept the weights before "
                    "their first step",
                    result.verdict->start_kept, result.verdict->runs));
  }
  folder.write_results(listed, best, result.reports, result.verdict);
  return result;
}

}  // namespace simile
