// SPDX-License-Identifier: Apache-2.0
#include "simile/train/seeds.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/report/run_folder.h"
#include "simile/train/fold_reports.h"
#include "simile/train/fold_runs.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

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
      for (Report& summary : mean_and_deviation(same)) {
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

int64_t count_runs(const TrainOptions& options) {
  return options.folds > 0 ? options.folds : options.runs;
}

TrainOptions options_of_run(const TrainOptions& options, int64_t number) {
  if (options.folds > 0) return options_of_fold(options, number);
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

TrainResult train_seeds(const TrainOptions& options, const std::string& path, bool resume,
                        bool overwrite, const TrainOnce& train_once, EventSink& events) {
  const RunFolder folder(path, resume, overwrite);
  if (resume) folder.check_resume(true);
  TrainOptions described = options;
  const std::string recipe = options_to_json(described);
  const bool has_folds = options.folds > 0;
  const int64_t count = count_runs(options);
  std::vector<TrainResult> runs;
  std::vector<SeedResult> listed;
  std::vector<Verdict> verdicts;
  for (int64_t i = 0; i < count; ++i) {
    const TrainOptions run = options_of_run(options, i);
    const std::string name =
        has_folds ? fmt::format("fold {}", i) : fmt::format("seed {}", run.seed);
    events.info(fmt::format("run {} of {}: {}", i + 1, count, name));
    const std::string run_path = folder.seed_path(i + 1);
    runs.push_back(train_once(run, run_path, [&] {
      // Not before: an older run stays as it was when the recipe turns out to be mistaken.
      if (i > 0) return;
      if (!resume) folder.remove_old_run(std::filesystem::path(run_path).filename());
      folder.write_run(recipe);
    }));
    listed.push_back({run.seed, runs.back().reports, runs.back().selected_value, {}});
    if (has_folds) listed.back().fold = i;
    verdicts.push_back(*runs.back().verdict);
    events.info(fmt::format("{}: {}", name, verdicts.back().to_line()));
  }
  TrainResult result;
  std::optional<size_t> best;
  if (has_folds) {
    result.reports = join_fold_reports(options, runs, folder);
  } else {
    best = find_best(options, runs);
    copy_model(runs[*best].model_path, folder.model_path());
    result.model_path = folder.model_path();
    result.reports = join_reports(options, runs, *best);
    result.selected_value = runs[*best].selected_value;
  }
  result.verdict = join_verdicts(verdicts, has_folds ? "folds" : "seeds");
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
