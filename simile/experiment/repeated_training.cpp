// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/repeated_training.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/predictions.h"
#include "simile/metric/significance.h"
#include "simile/report/run_folder.h"
#include "simile/train/process_group.h"
#include "simile/train/read_recipe.h"
#include "simile/train/selection.h"
#include "simile/train/shared_training.h"

namespace simile {
namespace {

int64_t count_runs(const TrainOptions& options) {
  return options.folds > 0 ? options.folds : options.runs;
}

// Training `number` of them, from 0: its seed or fold, and the baselines that are computed with it.
TrainOptions options_of_run(const TrainOptions& options, int64_t number) {
  if (options.folds > 0) return options_of_fold(options, number);
  TrainOptions run = options;
  run.runs = 1;
  run.seed = options.seed + number;
  for (StageOptions& stage : run.stages) {
    for (ObjectiveOptions& objective : stage.objectives) {
      if (objective.data.per_class > 0) objective.data.draw_seed += number;
    }
  }
  if (number == 0) return run;
  run.baselines.clear();
  for (const std::string& baseline : options.baselines) {
    const bool is_per_run = baseline == "hybrid" || depends_on_seed(baseline, options);
    if (is_per_run) run.baselines.push_back(baseline);
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
    if (value && (!record || is_better(*value, *record, is_loss))) best = i;
  }
  return best;
}

// Each run's report of this model on this evaluation.
std::vector<Report> same_reports(const std::vector<TrainResult>& runs, const Report& like) {
  std::vector<Report> same;
  for (const TrainResult& run : runs) {
    std::copy_if(run.reports.begin(), run.reports.end(), std::back_inserter(same),
                 [&](const Report& report) {
                   return report.name == like.name && report.task == like.task &&
                          report.model == like.model;
                 });
  }
  return same;
}

// Whether each of its examples is evaluated in one of the recipe's folds.
bool is_cut_evaluation(const TrainOptions& options, const Report& report) {
  for (const auto* list : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& evaluation : *list) {
      if (evaluation.name == report.name && evaluation.task == report.task) {
        return options.folds > 0 && is_cut(evaluation);
      }
    }
  }
  return false;
}

// Joins the files of one evaluation; of all metrics those that its examples alone decide.
std::optional<Report> report_together(const TrainOptions& options, const RunFolder& folder,
                                      const Report& mean, bool is_hybrid) {
  if (!is_cut_evaluation(options, mean)) return std::nullopt;
  const std::string own = folder.predictions_path(is_hybrid ? run_format::kHybrid : "");
  std::vector<std::string> files;
  for (int64_t fold = 0; fold < options.folds; ++fold) {
    files.push_back(
        predictions_file(folder.seed_predictions_path(fold + 1, is_hybrid), mean.task, mean.name));
  }
  if (!std::all_of(files.begin(), files.end(), file_exists)) return std::nullopt;
  const Predictions joined = join_predictions(files, predictions_file(own, mean.task, mean.name));
  Report together = mean;
  together.model = "all";
  together.metrics.clear();
  together.examples = joined.size();
  const std::vector<int64_t> all = all_positions(joined.left.size());
  for (const auto& [name, value] : mean.metrics) {
    const Statistic statistic = make_statistic(joined, name, nullptr);
    if (statistic) together.metrics.emplace_back(name, statistic(all));
  }
  return together;
}

// The reports of all runs as one table.
class JoinedReports {
 public:
  // `names` are those of the runs: "fold 0", "seed 5 (best)".
  JoinedReports(const TrainOptions& options, const std::vector<TrainResult>& runs,
                std::vector<std::string> names, const RunFolder& folder)
      : options_(options), runs_(runs), names_(std::move(names)), folder_(folder) {}

  // For each evaluation: every run, mean and deviation; the same together with BM25; the baselines.
  std::vector<Report> of_seeds() {
    for (const Report& own : runs_[0].reports) {
      if (own.model != options_.name) continue;
      Report hybrid = own;
      hybrid.model = hybrid_ + own.model;
      add_own(own, "");
      add_own(hybrid, hybrid_);
      for (const Report& report : runs_[0].reports) {
        const bool is_of_same = report.name == own.name && report.task == own.task;
        if (is_of_same && report.model != own.model && report.model != hybrid.model) {
          all_.push_back(report);
        }
      }
    }
    return std::move(all_);
  }

  std::vector<Report> of_folds() {
    for (const Report& report : runs_[0].reports) {
      if (report.model == options_.name) {
        add_own(report, "");
      } else if (report.model == hybrid_ + options_.name) {
        add_own(report, hybrid_);
      } else {
        add_summary(same_reports(runs_, report), report.model, report.model + " sd");
      }
    }
    return std::move(all_);
  }

 private:
  void add_own(const Report& like, const std::string& prefix) {
    const std::vector<Report> same = same_reports(runs_, like);
    if (same.empty()) return;
    for (size_t run = 0; run < same.size(); ++run) {
      all_.push_back(same[run]);
      all_.back().model = prefix + names_[run];
    }
    const Report mean = add_summary(same, prefix + "mean", prefix + "sd");
    std::optional<Report> together = report_together(options_, folder_, mean, !prefix.empty());
    if (!together) return;
    together->model = prefix + "all";
    all_.push_back(std::move(*together));
  }

  // Returns the mean.
  Report add_summary(const std::vector<Report>& runs, const std::string& mean,
                     const std::string& deviation) {
    std::array<Report, 2> both = mean_and_deviation(runs);
    both[0].model = mean;
    both[1].model = deviation;
    for (Report& summary : both) {
      if (!is_cut_evaluation(options_, summary)) continue;
      summary.examples = 0;
      for (const Report& report : runs) summary.examples += report.examples;
    }
    all_.insert(all_.end(), both.begin(), both.end());
    return both[0];
  }

  const TrainOptions& options_;
  const std::vector<TrainResult>& runs_;
  std::vector<std::string> names_;
  const RunFolder& folder_;
  const std::string hybrid_ = hybrid_name("");
  std::vector<Report> all_;
};

class RepeatedTraining {
 public:
  RepeatedTraining(const TrainOptions& options, const std::string& path, const TrainingMode& mode,
                   EventSink& events)
      : options_(options),
        mode_(mode),
        events_(events),
        folder_(path, mode.resume, mode.overwrite) {
    if (mode.resume) folder_.check_resume(true);
  }

  TrainResult run() {
    for (int64_t i = 0; i < count_runs(options_); ++i) train_run(i);
    TrainResult result;
    std::optional<size_t> best;
    if (!has_folds()) {
      best = find_best(options_, runs_);
      result.model_path = folder_.model_path();
      AtomicFolder copy(result.model_path, "modules.json");
      std::error_code error;
      std::filesystem::copy(runs_[*best].model_path, copy.path(),
                            std::filesystem::copy_options::recursive, error);
      SIMILE_CHECK(!error, ErrorKind::kIo, "cannot write '{}': {}", result.model_path,
                   error.message());
      copy.commit();
      result.selected_value = runs_[*best].selected_value;
      if (result.selected_value) names_[*best] += " (best)";
    }
    JoinedReports joined(options_, runs_, names_, folder_);
    result.reports = has_folds() ? joined.of_folds() : joined.of_seeds();
    result.verdict = join_verdicts(verdicts_, has_folds() ? "folds" : "seeds");
    if (result.verdict->start_kept > 0) {
      events_.warning(fmt::format(
          "NOTHING WAS GAINED by {} of {} runs, which kept the weights before their first step",
          result.verdict->start_kept, result.verdict->runs));
    }
    folder_.write_results(listed_, best, result.reports, result.verdict);
    return result;
  }

 private:
  bool has_folds() const { return options_.folds > 0; }

  void train_run(int64_t number) {
    const TrainOptions run = options_of_run(options_, number);
    names_.push_back(has_folds() ? fmt::format("fold {}", number)
                                 : fmt::format("seed {}", run.seed));
    const std::string& name = names_.back();
    events_.info(fmt::format("run {} of {}: {}", number + 1, count_runs(options_), name));
    TrainingMode mode = mode_;
    mode.more_follow = number + 1 < count_runs(options_);
    // Not before: an older run stays as it was when the recipe turns out to be mistaken.
    if (number == 0) {
      mode.begin = [this] {
        const std::filesystem::path first = folder_.seed_path(1);
        if (!mode_.resume) folder_.remove_old_run(first.filename());
        folder_.write_run(options_to_json(options_));
      };
    }
    runs_.push_back(train(run, folder_.seed_path(number + 1), mode, events_));
    listed_.push_back({run.seed, runs_.back().reports, runs_.back().selected_value, {}});
    if (has_folds()) listed_.back().fold = number;
    verdicts_.push_back(*runs_.back().verdict);
    events_.info(fmt::format("{}: {}", name, verdicts_.back().to_line()));
  }

  const TrainOptions& options_;
  const TrainingMode& mode_;
  EventSink& events_;
  RunFolder folder_;
  std::vector<std::string> names_;
  std::vector<TrainResult> runs_;
  std::vector<SeedResult> listed_;
  std::vector<Verdict> verdicts_;
};

}  // namespace

TrainResult train_recipe(const ConfigNode& recipe, const std::string& folder, bool resume,
                         bool overwrite, EventSink& events, ProcessGroup* processes) {
  TrainOptions options = read_recipe(recipe, events);
  const std::string path = open_run(options, folder, resume, events);
  TrainingMode mode{resume, overwrite, processes, false, {}};
  if (count_runs(options) == 1) return train(options, path, mode, events);
  if (processes != nullptr) {
    check_shared_options(options, processes->size());
    check_shared_recipe(*processes, options);
    // The files of a process that is not the first are of no use to anyone.
    for (int64_t i = 0; processes->rank() > 0 && i < count_runs(options); ++i) {
      mode.more_follow = i + 1 < count_runs(options);
      train(options_of_run(options, i), "", mode, events);
    }
    if (processes->rank() > 0) return {};
  }
  return RepeatedTraining(options, path, mode, events).run();
}

}  // namespace simile
