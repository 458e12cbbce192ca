// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/compared_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/model/model_folder.h"

namespace simile {

ComparedRuns read_compared_runs(const std::string& path) {
  ComparedRuns side;
  side.path = path;
  if (file_exists(path)) {
    side.is_file = true;
    side.runs.emplace_back();
    side.runs[0].path = path;
    side.runs[0].reports = {report_predictions(read_predictions(path))};
    return side;
  }
  const bool is_hybrid = starts_with(path, kHybridPrefix);
  side.runs = read_run_set(is_hybrid ? path.substr(kHybridPrefix.size()) : path).runs;
  for (RunFiles& run : side.runs) {
    SIMILE_CHECK(!run.reports.empty(), ErrorKind::kInput,
                 "'{}' has no {}: no evaluations, or not finished; finish it with --resume",
                 run.path, run_format::kResults);
    run.reports = is_hybrid ? run.hybrid_reports() : run.own_reports();
    SIMILE_CHECK(!run.reports.empty(), ErrorKind::kInput,
                 "'{}' has no reports of its model together with BM25; train it with `hybrid` "
                 "among its baselines",
                 run.path);
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
  std::stable_sort(side.runs.begin(), side.runs.end(), [](const RunFiles& x, const RunFiles& y) {
    return std::tie(x.fold, x.seed) < std::tie(y.fold, y.seed);
  });
}

std::vector<int64_t> seeds_of(const ComparedRuns& side) {
  std::vector<int64_t> seeds;
  for (const RunFiles& run : side.runs) {
    if (run.seed) seeds.push_back(*run.seed);
  }
  return seeds.size() == side.runs.size() ? seeds : std::vector<int64_t>();
}

void pair_runs(ComparedRuns& a, ComparedRuns& b) {
  const ComparedRuns &file = a.is_file ? a : b, &run = a.is_file ? b : a;
  SIMILE_CHECK(a.is_file == b.is_file, ErrorKind::kInput,
               "'{}' is a file and '{}' a run folder; compare the file with the run's own, in {}",
               file.path, run.path, join_path(run.path, run_format::kPredictions));
  sort_runs(a);
  sort_runs(b);
  // Folds are parts of the data: one of each side is tested on the same part.
  const bool same_folds = std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                                     [](const auto& x, const auto& y) { return x.fold == y.fold; });
  const auto describe = [](const ComparedRuns& side) {
    return side.has_folds() ? fmt::format("has {} folds", side.runs.size())
                            : std::string("has none");
  };
  SIMILE_CHECK(
      (!a.has_folds() && !b.has_folds()) || same_folds, ErrorKind::kInput,
      "runs on folds are paired by fold, but '{}' {} and '{}' {}; train both with the same `folds`",
      a.path, describe(a), b.path, describe(b));
  if (a.runs.size() < 2 || b.runs.size() < 2) return;
  const std::vector<int64_t> a_seeds = seeds_of(a), b_seeds = seeds_of(b);
  for (const auto& [side, seeds] : {std::make_pair(&a, &a_seeds), std::make_pair(&b, &b_seeds)}) {
    SIMILE_CHECK(!seeds->empty(), ErrorKind::kInput,
                 "'{}': the runs cannot be paired, as the seed of one is not known (no {})",
                 side->path, run_format::kRecipe);
  }
  SIMILE_CHECK(a_seeds == b_seeds, ErrorKind::kInput,
               "runs are paired by their seeds, but '{}' has {} ({}) and '{}' has {} ({}); train "
               "both with the same `seed` and `runs`, or compare single runs: simile compare {} {}",
               a.path, a_seeds.size(), fmt::join(a_seeds, ", "), b.path, b_seeds.size(),
               fmt::join(b_seeds, ", "), join_path(a.path, run_format::seed_folder(1)),
               join_path(b.path, run_format::seed_folder(1)));
}

const Report* find_report(const RunFiles& run, const Report& like) {
  const auto found =
      std::find_if(run.reports.begin(), run.reports.end(),
                   [&](const Report& report) { return is_same_evaluation(report, like); });
  return found == run.reports.end() ? nullptr : &*found;
}

SideExamples::SideExamples(const ComparedRuns& side, const std::vector<const Report*>& reports) {
  for (size_t r = 0; r < reports.size(); ++r) {
    const RunFiles& run = side.runs[r];
    const std::string path = file_exists(run.path) ? run.path : run.predictions_of(*reports[r]);
    if (path.empty()) {
      predictions_.clear();
      return;
    }
    predictions_.push_back(read_predictions(path));
    reports_.push_back(*reports[r]);
    // Folds may be tested on the whole of a set, too: then all are one.
    const bool has_own_examples = r == 0 || (run.fold != side.runs[r - 1].fold &&
                                             (predictions_[r].left != predictions_[r - 1].left ||
                                              predictions_[r].right != predictions_[r - 1].right));
    if (has_own_examples) {
      folds_.push_back({r, r, predictions_.back().size()});
      count_ += folds_.back().examples;
    }
    ++folds_.back().end;
    check_same_examples(predictions_[folds_.back().begin], predictions_.back());
  }
}

Statistic SideExamples::statistic(const std::string& metric, std::string& problem) const {
  std::vector<Statistic> of_runs;
  for (size_t r = 0; r < predictions_.size(); ++r) {
    const double* reported = reports_[r].find_metric(metric);
    const Statistic of_run = make_statistic(predictions_[r], metric, &reports_[r]);
    if (reported == nullptr || !of_run) return nullptr;
    if (!gives_reported(of_run, predictions_[r], *reported)) {
      problem = fmt::format(
          "{}: {} is {:.4f} by the predictions, but {:.4f} in the report: another evaluation",
          predictions_[r].path, metric, of_run(all_positions(predictions_[r].size())), *reported);
      return nullptr;
    }
    of_runs.push_back(of_run);
  }
  return [this, of_runs](const std::vector<int64_t>& positions) {
    const auto mean_of = [&](const Fold& fold, const std::vector<int64_t>& own) {
      double sum = 0;
      for (size_t r = fold.begin; r < fold.end; ++r) sum += of_runs[r](own);
      return sum / static_cast<double>(fold.end - fold.begin);
    };
    if (folds_.size() == 1) return mean_of(folds_[0], positions);
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
      sum += mean_of(folds_[f], own[f]);
      ++folds;
    }
    return sum / static_cast<double>(folds);
  };
}

}  // namespace simile
