// SPDX-License-Identifier: Apache-2.0
#include "simile/train/fold_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "simile/core/file.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/prediction_metric.h"
#include "simile/eval/predictions.h"
#include "simile/metric/sorted_values.h"
#include "simile/train/fold_runs.h"

namespace simile {
namespace {

// What each fold reports of this model on this evaluation.
std::vector<Report> reports_by_fold(const std::vector<TrainResult>& folds, const Report& like) {
  std::vector<Report> same;
  for (const TrainResult& fold : folds) {
    for (const Report& report : fold.reports) {
      if (report.name == like.name && report.task == like.task && report.model == like.model) {
        same.push_back(report);
      }
    }
  }
  return same;
}

bool is_cut_evaluation(const TrainOptions& options, const Report& report) {
  for (const auto* list : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& evaluation : *list) {
      if (evaluation.name == report.name && evaluation.task == report.task) {
        return is_cut(evaluation);
      }
    }
  }
  return false;
}

// Joins the files of one evaluation; of all metrics those that its examples alone decide.
std::optional<Report> report_together(const TrainOptions& options, const RunFolder& folder,
                                      const Report& mean, bool is_hybrid) {
  if (!is_cut_evaluation(options, mean)) return std::nullopt;
  const std::string own = is_hybrid ? folder.hybrid_predictions_path() : folder.predictions_path();
  std::vector<std::string> files;
  for (int64_t fold = 0; fold < options.folds; ++fold) {
    files.push_back(
        predictions_file(folder.seed_predictions_path(fold + 1, is_hybrid), mean.task, mean.name));
  }
  const bool are_there =
      std::all_of(files.begin(), files.end(), [](const auto& file) { return file_exists(file); });
  if (!are_there) return std::nullopt;
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

std::array<Report, 2> summarise_folds(const TrainOptions& options, const std::vector<Report>& folds,
                                      const std::string& prefix) {
  std::array<Report, 2> both = mean_and_deviation(folds);
  for (Report& summary : both) {
    summary.model = prefix + summary.model;
    if (!is_cut_evaluation(options, summary)) continue;
    summary.examples = 0;
    for (const Report& report : folds) summary.examples += report.examples;
  }
  return both;
}

void add_own(const TrainOptions& options, const std::vector<Report>& folds,
             const std::string& prefix, const RunFolder& folder, std::vector<Report>& all) {
  for (size_t fold = 0; fold < folds.size(); ++fold) {
    all.push_back(folds[fold]);
    all.back().model = fmt::format("{}fold {}", prefix, fold);
  }
  const std::array<Report, 2> both = summarise_folds(options, folds, prefix);
  all.insert(all.end(), both.begin(), both.end());
  std::optional<Report> together = report_together(options, folder, both[0], !prefix.empty());
  if (!together) return;
  together->model = prefix + "all";
  all.push_back(std::move(*together));
}

void add_baseline(const TrainOptions& options, const std::vector<Report>& folds,
                  std::vector<Report>& all) {
  std::array<Report, 2> both = summarise_folds(options, folds, "");
  both[0].model = folds[0].model;
  both[1].model = folds[0].model + " sd";
  all.insert(all.end(), both.begin(), both.end());
}

}  // namespace

std::vector<Report> join_fold_reports(const TrainOptions& options,
                                      const std::vector<TrainResult>& folds,
                                      const RunFolder& folder) {
  const std::string hybrid = hybrid_name("");
  std::vector<Report> all;
  for (const Report& report : folds[0].reports) {
    const std::vector<Report> same = reports_by_fold(folds, report);
    if (report.model == options.name) {
      add_own(options, same, "", folder, all);
    } else if (report.model == hybrid + options.name) {
      add_own(options, same, hybrid, folder, all);
    } else {
      add_baseline(options, same, all);
    }
  }
  return all;
}

}  // namespace simile
