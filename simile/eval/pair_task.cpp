// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/pair_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/metric/threshold.h"

namespace simile {
namespace {

std::vector<int> read_labels(const PairDataset& data) {
  std::vector<int> labels;
  for (size_t i = 0; i < data.score.size(); ++i) {
    SIMILE_CHECK(data.score[i] == 0 || data.score[i] == 1, ErrorKind::kInput,
                 fmt::format("{}: task pairs needs gold scores 0 and 1, found {} in row {}; name "
                             "classes with score_names, or use task sts for graded scores",
                             data.report.file, data.score[i], i + 1));
    labels.push_back(data.score[i] == 1 ? 1 : 0);
  }
  const int64_t positives = std::count(labels.begin(), labels.end(), 1);
  SIMILE_CHECK(positives > 0 && positives < data.size(), ErrorKind::kInput,
               fmt::format("{}: task pairs needs positive and negative pairs, found {} positive of "
                           "{}; is the score column the right one?",
                           data.report.file, positives, data.size()));
  return labels;
}

}  // namespace

PairTask::PairTask(std::string name, PairDataset data, PairDataset dev, std::string head)
    : name_(std::move(name)),
      data_(std::move(data)),
      dev_(std::move(dev)),
      head_(std::move(head)),
      labels_(read_labels(data_)),
      dev_labels_(dev_.size() > 0 ? read_labels(dev_) : std::vector<int>()) {}

Report PairTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                          Predictions* predictions) const {
  const std::vector<double> scores = score_checked(scorer, data_, head_);
  keep_scored_pairs(data_, scores, predictions_path, predictions);
  const bool oracle = dev_labels_.empty();
  const std::vector<double> dev_scores = oracle ? scores : score_checked(scorer, dev_, head_);
  const std::vector<int>& dev_labels = oracle ? labels_ : dev_labels_;
  const double accuracy_threshold = find_accuracy_threshold(dev_scores, dev_labels).threshold;
  const double f1_threshold = find_f1_threshold(dev_scores, dev_labels).threshold;
  const BinaryCounts at_accuracy = apply_threshold(scores, labels_, accuracy_threshold);
  const BinaryCounts at_f1 = apply_threshold(scores, labels_, f1_threshold);

  Report report;
  report.task = "pairs";
  report.name = name_;
  report.model = scorer.name();
  report.notes = scorer.notes();
  report.examples = data_.size();
  report.metrics = {{"f1", at_f1.f1()},
                    {"accuracy", at_accuracy.accuracy()},
                    {"ap", average_precision(scores, labels_)},
                    {"mcc", at_f1.mcc()},
                    {"threshold", accuracy_threshold},
                    {"f1_threshold", f1_threshold}};
  if (oracle) {
    report.notes.push_back(
        "threshold: oracle (chosen on the evaluated pairs; give dev for a fair one)");
  }
  return report;
}

std::vector<std::string> PairTask::metric_names() const {
  return {"f1", "accuracy", "ap", "mcc", "threshold", "f1_threshold"};
}

std::vector<std::string> PairTask::notes() const {
  std::vector<std::string> notes = data_.notes;
  notes.insert(notes.end(), dev_.notes.begin(), dev_.notes.end());
  return notes;
}

std::vector<std::string> PairTask::warnings() const {
  std::vector<std::string> warnings = reading_warnings(data_);
  const std::vector<std::string> of_dev = reading_warnings(dev_);
  warnings.insert(warnings.end(), of_dev.begin(), of_dev.end());
  return warnings;
}

TestTexts PairTask::texts() const { return pair_texts(data_); }

}  // namespace simile
