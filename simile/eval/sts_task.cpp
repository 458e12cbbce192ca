// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/sts_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/metric/correlation.h"

namespace simile {

StsTask::StsTask(std::string name, PairDataset data, std::string head)
    : name_(std::move(name)), data_(std::move(data)), head_(std::move(head)) {
  SIMILE_CHECK(data_.size() >= 2, ErrorKind::kInput,
               fmt::format("{}: task sts needs at least two scored pairs, found {}",
                           data_.report.file, data_.size()));
  const auto [low, high] = std::minmax_element(data_.score.begin(), data_.score.end());
  SIMILE_CHECK(*low < *high, ErrorKind::kInput,
               fmt::format("{}: task sts correlates with graded gold scores, but all {} are {}; is "
                           "the score column the right one?",
                           data_.report.file, data_.size(), *low));
}

Report StsTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                         Predictions* predictions) const {
  const std::vector<double> scores = score_checked(scorer, data_, head_);
  keep_scored_pairs(data_, scores, predictions_path, predictions);
  Report report;
  report.task = "sts";
  report.name = name_;
  report.model = scorer.name();
  report.notes = scorer.notes();
  report.examples = data_.size();
  report.metrics = {{"spearman", spearman(scores, data_.score)},
                    {"pearson", pearson(scores, data_.score)}};
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  if (*low == *high) report.notes.push_back("all scores are equal: correlation is taken as 0");
  return report;
}

std::vector<std::string> StsTask::warnings() const { return reading_warnings(data_); }

TestTexts StsTask::texts() const { return pair_texts(data_); }

}  // namespace simile
