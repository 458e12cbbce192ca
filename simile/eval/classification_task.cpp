// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/classification_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/eval/predictions.h"
#include "simile/metric/classification.h"
#include "simile/model/head_settings.h"

namespace simile {
namespace {

struct Classified {
  std::vector<std::string> classes;      // of the head
  std::vector<int64_t> gold, predicted;  // places in `classes`
  std::vector<double> probability;       // of the class predicted
};

Classified classify(Scorer& scorer, const PairDataset& data, const std::string& head) {
  const HeadOutput output = scorer.run_head(head, data.left, data.right);
  Classified predictions;
  predictions.classes = head_classes(output);
  const std::vector<int32_t> places =
      match_classes(data.class_names, predictions.classes, data.report.file);
  const Matrix<double> probabilities = class_probabilities(output, data.size());
  for (int64_t i = 0; i < data.size(); ++i) {
    const double* row = probabilities.row(i);
    const double* best = std::max_element(row, row + probabilities.cols);
    predictions.gold.push_back(places[static_cast<size_t>(data.classes[static_cast<size_t>(i)])]);
    predictions.predicted.push_back(best - row);
    predictions.probability.push_back(*best);
  }
  return predictions;
}

Predictions make_predictions(const PairDataset& data, const Classified& classified) {
  Predictions predictions;
  predictions.kind = PredictionKind::kClasses;
  predictions.left = data.left;
  predictions.right = data.right;
  predictions.probability = classified.probability;
  const auto class_name = [&](int64_t place) {
    return classified.classes[static_cast<size_t>(place)];
  };
  for (size_t i = 0; i < data.left.size(); ++i) {
    predictions.gold_class.push_back(class_name(classified.gold[i]));
    predictions.predicted.push_back(class_name(classified.predicted[i]));
  }
  return predictions;
}

// How many of the classes are neither gold nor predicted.
int64_t count_absent(const Matrix<int64_t>& confusion) {
  int64_t absent = 0;
  for (int64_t c = 0; c < confusion.rows; ++c) {
    bool occurs = false;
    for (int64_t other = 0; other < confusion.rows; ++other) {
      occurs = occurs || confusion.at(c, other) > 0 || confusion.at(other, c) > 0;
    }
    absent += occurs ? 0 : 1;
  }
  return absent;
}

}  // namespace

ClassificationTask::ClassificationTask(std::string name, PairDataset data, std::string head)
    : name_(std::move(name)), data_(std::move(data)), head_(std::move(head)) {}

Report ClassificationTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                                    Predictions* predictions) const {
  const Classified classified = classify(scorer, data_, head_);
  if (!predictions_path.empty() || predictions != nullptr) {
    keep_predictions(make_predictions(data_, classified), predictions_path, predictions);
  }
  ClassificationScores scores = score_classes(classified.gold, classified.predicted,
                                              static_cast<int64_t>(classified.classes.size()));
  Report report;
  report.task = "classification";
  report.name = name_;
  report.model = scorer.name();
  report.examples = data_.size();
  report.metrics = {{"accuracy", scores.accuracy}, {"macro_f1", scores.macro_f1}};
  if (const int64_t absent = count_absent(scores.confusion); absent > 0) {
    report.notes.push_back(
        fmt::format("{} of {} classes are neither in the data nor predicted: macro_f1 leaves them "
                    "out",
                    absent, classified.classes.size()));
  }
  report.confusion = {classified.classes, std::move(scores.confusion)};
  return report;
}

std::vector<std::string> ClassificationTask::metric_names() const {
  return {"accuracy", "macro_f1"};
}

std::vector<std::string> ClassificationTask::warnings() const { return reading_warnings(data_); }

TestTexts ClassificationTask::texts() const { return pair_texts(data_); }

}  // namespace simile
