// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/side_examples.h"

#include <fmt/format.h>

#include "simile/eval/prediction_metric.h"
#include "simile/metric/significance.h"

namespace simile {

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
