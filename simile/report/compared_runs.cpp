// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/compared_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/predictions.h"
#include "simile/metric/significance.h"
#include "simile/model/model_folder.h"
#include "simile/report/detail/run_format.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

void check_same_form(const ComparedRuns& a, const ComparedRuns& b) {
  const ComparedRuns& file = a.is_file ? a : b;
  const ComparedRuns& run = a.is_file ? b : a;
  SIMILE_CHECK(a.is_file == b.is_file, ErrorKind::kInput,
               fmt::format("'{}' is a file and '{}' a run folder; compare the file with the run's "
                           "own, in {}",
                           file.path, run.path, join_path(run.path, run_format::kPredictions)));
}

// Folds are parts of the data: one of each side is tested on the same part.
void check_same_folds(const ComparedRuns& a, const ComparedRuns& b) {
  if (!a.has_folds() && !b.has_folds()) return;
  const bool same = a.runs.size() == b.runs.size() &&
                    std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(),
                               [](const auto& x, const auto& y) { return x.fold == y.fold; });
  const auto describe = [](const ComparedRuns& side) {
    return side.has_folds() ? fmt::format("has {} folds", side.runs.size())
                            : std::string("has none");
  };
  SIMILE_CHECK(same, ErrorKind::kInput,
               fmt::format("runs on folds are paired by fold, but '{}' {} and '{}' {}; train both "
                           "with the same `folds`",
                           a.path, describe(a), b.path, describe(b)));
}

}  // namespace

ComparedRuns read_compared_runs(const std::string& path) {
  ComparedRuns side;
  side.path = path;
  if (file_exists(path)) {
    side.is_file = true;
    side.runs.push_back(
        {std::nullopt, std::nullopt, {report_predictions(read_predictions(path))}, {path}, false});
    return side;
  }
  const bool is_hybrid = starts_with(path, kHybridPrefix);
  const std::string folder = is_hybrid ? path.substr(kHybridPrefix.size()) : path;
  for (const RunFiles& run : read_run_set(folder).runs) {
    SIMILE_CHECK(!run.reports.empty(), ErrorKind::kInput,
                 fmt::format("'{}' has no {} yet: the run is not finished, or has no "
                             "evaluations; finish it with --resume",
                             run.path, run_format::kResults));
    ComparedRuns::Run own{run.seed,
                          run.fold,
                          is_hybrid ? run.hybrid_reports() : run.own_reports(),
                          {},
                          run.verdict.start_kept > 0};
    SIMILE_CHECK(!own.reports.empty(), ErrorKind::kInput,
                 fmt::format("'{}' has no reports of its model together with BM25; train it with "
                             "`hybrid` among its baselines",
                             run.path));
    for (const Report& report : own.reports) own.predictions.push_back(run.predictions_of(report));
    side.runs.push_back(std::move(own));
  }
  return side;
}

ComparedRuns read_compared_runs(const std::string& name, const std::vector<std::string>& folders) {
  ComparedRuns side;
  side.path = name;
  for (const std::string& folder : folders) {
    ComparedRuns one = read_compared_runs(folder);
    std::move(one.runs.begin(), one.runs.end(), std::back_inserter(side.runs));
  }
  return side;
}

void sort_runs(ComparedRuns& side) {
  std::stable_sort(side.runs.begin(), side.runs.end(),
                   [](const ComparedRuns::Run& x, const ComparedRuns::Run& y) {
                     return std::tie(x.fold, x.seed) < std::tie(y.fold, y.seed);
                   });
}

std::vector<int64_t> seeds_of(const ComparedRuns& side) {
  std::vector<int64_t> seeds;
  for (const ComparedRuns::Run& run : side.runs) {
    if (run.seed) seeds.push_back(*run.seed);
  }
  return seeds.size() == side.runs.size() ? seeds : std::vector<int64_t>();
}

void pair_runs(ComparedRuns& a, ComparedRuns& b) {
  check_same_form(a, b);
  sort_runs(a);
  sort_runs(b);
  check_same_folds(a, b);
  if (a.runs.size() < 2 || b.runs.size() < 2) return;
  const std::vector<int64_t> a_seeds = seeds_of(a), b_seeds = seeds_of(b);
  for (const auto& [side, seeds] : {std::make_pair(&a, &a_seeds), std::make_pair(&b, &b_seeds)}) {
    SIMILE_CHECK(!seeds->empty(), ErrorKind::kInput,
                 fmt::format("'{}': the runs cannot be paired, as the seed of one is not known (no "
                             "{})",
                             side->path, run_format::kRecipe));
  }
  SIMILE_CHECK(a_seeds == b_seeds, ErrorKind::kInput,
               fmt::format("runs are paired by their seeds, but '{}' has {} ({}) and '{}' has {} "
                           "({}); train both with the same `seed` and `runs`, or compare single "
                           "runs: simile compare {} {}",
                           a.path, a_seeds.size(), fmt::join(a_seeds, ", "), b.path, b_seeds.size(),
                           fmt::join(b_seeds, ", "), join_path(a.path, run_format::seed_folder(1)),
                           join_path(b.path, run_format::seed_folder(1))));
}

size_t find_report(const ComparedRuns::Run& run, const Report& like) {
  const auto found = std::find_if(
      run.reports.begin(), run.reports.end(),
      [&](const Report& report) { return report.task == like.task && report.name == like.name; });
  return static_cast<size_t>(found - run.reports.begin());
}

SideExamples::SideExamples(const ComparedRuns& side, const std::vector<size_t>& places) {
  for (size_t r = 0; r < places.size(); ++r) {
    const std::string& path = side.runs[r].predictions[places[r]];
    if (path.empty()) {
      predictions_.clear();
      return;
    }
    predictions_.push_back(read_predictions(path));
    reports_.push_back(side.runs[r].reports[places[r]]);
    const bool is_next_fold = r == 0 || side.runs[r].fold != side.runs[r - 1].fold;
    if (is_next_fold && has_examples_of_its_own(r)) {
      folds_.push_back({r, r, predictions_.back().size()});
      count_ += folds_.back().examples;
    }
    ++folds_.back().end;
    check_same_examples(predictions_[folds_.back().begin], predictions_.back());
  }
}

// Others than the run before it: folds may be tested on the whole of a set, too.
bool SideExamples::has_examples_of_its_own(size_t run) const {
  if (run == 0) return true;
  const Predictions &before = predictions_[run - 1], &own = predictions_[run];
  return before.left != own.left || before.right != own.right;
}

Statistic SideExamples::statistic(const std::string& metric, std::string& problem) const {
  std::vector<Statistic> of_runs;
  for (size_t r = 0; r < predictions_.size(); ++r) {
    const double* reported = reports_[r].find_metric(metric);
    const Statistic of_run = make_statistic(predictions_[r], metric, &reports_[r]);
    if (reported == nullptr || !of_run) return nullptr;
    if (!gives_reported(of_run, predictions_[r], *reported)) {
      problem = fmt::format(
          "{}: {} of the predictions is {:.4f}, but {:.4f} was reported: they are of another "
          "evaluation; no interval over examples",
          predictions_[r].path, metric, of_run(all_positions(predictions_[r].size())), *reported);
      return nullptr;
    }
    of_runs.push_back(of_run);
  }
  return [this, of_runs](const std::vector<int64_t>& positions) {
    if (folds_.size() == 1) return mean_of_fold(folds_[0], of_runs, positions);
    std::vector<std::vector<int64_t>> own(folds_.size());
    for (int64_t position : positions) {
      size_t f = 0;
      for (; position >= folds_[f].examples; ++f) position -= folds_[f].examples;
      own[f].push_back(position);
    }
    double sum = 0;
    int64_t folds = 0;
    for (size_t f = 0; f < folds_.size(); ++f) {
      if (own[f].empty()) continue;
      sum += mean_of_fold(folds_[f], of_runs, own[f]);
      ++folds;
    }
    return sum / static_cast<double>(folds);
  };
}

double SideExamples::mean_of_fold(const Fold& fold, const std::vector<Statistic>& of_runs,
                                  const std::vector<int64_t>& positions) {
  double sum = 0;
  for (size_t r = fold.begin; r < fold.end; ++r) sum += of_runs[r](positions);
  return sum / static_cast<double>(fold.end - fold.begin);
}

}  // namespace simile
