// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/classification_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/metric/classification.h"

namespace simile {
namespace {

struct Predictions {
  std::vector<std::string> classes;      // of the head
  std::vector<int64_t> gold, predicted;  // places in `classes`
  std::vector<double> probability;       // of the class predicted
};

// The place in `known` of each of the data's classes.
std::vector<int64_t> match_classes(const PairDataset& data, const std::vector<std::string>& known) {
  std::vector<int64_t> places;
  for (const std::string& name : data.class_names) {
    const auto found = std::find(known.begin(), known.end(), name);
    SIMILE_CHECK(found != known.end(), ErrorKind::kInput,
                 fmt::format("{}: the head does not know the class '{}'; the data has the classes "
                             "{}, the head {}",
                             data.report.file, name, fmt::join(data.class_names, ", "),
                             fmt::join(known, ", ")));
    places.push_back(found - known.begin());
  }
  return places;
}

Predictions predict(Scorer& scorer, const PairDataset& data, const std::string& head) {
  const HeadOutput output = scorer.run_head(head, data.left, data.right);
  Predictions predictions;
  predictions.classes = head_classes(output);
  const std::vector<int64_t> places = match_classes(data, predictions.classes);
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

void write_predictions(const std::string& path, const PairDataset& data,
                       const Predictions& predictions) {
  const bool pairs = !data.right.empty();
  AtomicFile file(path);
  file.write(pairs ? "left\tright\tgold\tpredicted\tprobability\n"
                   : "text\tgold\tpredicted\tprobability\n");
  const auto class_name = [&](int64_t place) {
    return clean_field(predictions.classes[static_cast<size_t>(place)]);
  };
  for (size_t i = 0; i < data.left.size(); ++i) {
    file.write(clean_field(data.left[i]));
    if (pairs) file.write("\t" + clean_field(data.right[i]));
    file.write(fmt::format("\t{}\t{}\t{}\n", class_name(predictions.gold[i]),
                           class_name(predictions.predicted[i]), predictions.probability[i]));
  }
  file.commit();
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

Report ClassificationTask::evaluate(Scorer& scorer, const std::string& predictions_path) const {
  const Predictions predictions = predict(scorer, data_, head_);
  if (!predictions_path.empty()) write_predictions(predictions_path, data_, predictions);
  ClassificationScores scores = score_classes(predictions.gold, predictions.predicted,
                                              static_cast<int64_t>(predictions.classes.size()));
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
                    absent, predictions.classes.size()));
  }
  report.confusion = {predictions.classes, std::move(scores.confusion)};
  return report;
}

std::vector<std::string> ClassificationTask::warnings() const { return reading_notes(data_); }

TestTexts ClassificationTask::texts() const { return pair_texts(data_); }

}  // namespace simile
