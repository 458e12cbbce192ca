// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/pair_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "simile/core/error.h"
#include "simile/eval/predictions.h"
#include "simile/kernel/numerics.h"
#include "simile/metric/classification.h"
#include "simile/metric/significance.h"
#include "simile/model/head_settings.h"

namespace simile {
namespace {

// What reading the data met, for Task::warnings().
std::vector<std::string> reading_warnings(const PairDataset& data) {
  const std::string warning = data.report.warning();
  return warning.empty() ? std::vector<std::string>() : std::vector<std::string>{warning};
}

// One score per pair: the scorer's own, or that of its head where one is named. Errors:
// ErrorKind::kFailed for a wrong number of scores, or one that is not finite; and those of
// Scorer::run_head() and simile/eval/head_output.h.
std::vector<double> score_checked(Scorer& scorer, const PairDataset& data,
                                  const std::string& head) {
  if (!head.empty()) return head_scores(scorer.run_head(head, data.left, data.right), data.size());
  std::vector<double> scores = scorer.score_pairs(data.left, data.right);
  SIMILE_CHECK(
      static_cast<int64_t>(scores.size()) == data.size(), ErrorKind::kFailed,
      fmt::format("{} gave {} scores for {} pairs", scorer.name(), scores.size(), data.size()));
  for (size_t i = 0; i < scores.size(); ++i) {
    SIMILE_CHECK(
        std::isfinite(scores[i]), ErrorKind::kFailed,
        fmt::format("{} gave the score {} for the pair '{:.60}', '{:.60}': the model or its "
                    "training is broken",
                    scorer.name(), scores[i], data.left[i], data.right[i]));
  }
  return scores;
}

void keep_scored_pairs(const PairDataset& data, const std::vector<double>& scores,
                       const std::string& path, Predictions* predictions) {
  if (path.empty() && predictions == nullptr) return;
  Predictions table;
  table.left = data.left;
  table.right = data.right;
  table.gold = data.score;
  table.score = scores;
  keep_predictions(std::move(table), path, predictions);
}

}  // namespace

PairDataTask::PairDataTask(std::string task, std::string name, PairDataset data)
    : task_(std::move(task)), name_(std::move(name)), data_(std::move(data)) {}

std::vector<std::string> PairDataTask::metric_names() const {
  std::vector<std::string> names;
  for (const MetricRow& metric : metrics_of_task(task_)) names.push_back(metric.name);
  return names;
}

std::vector<std::string> PairDataTask::warnings() const { return reading_warnings(data_); }

TestTexts PairDataTask::texts() const { return pair_texts(data_); }

Report PairDataTask::make_report(const Scorer& scorer, const Answers& answers) const {
  Report report;
  report.task = task_;
  report.name = name_;
  report.model = scorer.name();
  report.notes = scorer.notes();
  report.examples = data_.size();
  const std::vector<int64_t> all = all_positions(data_.left.size());
  for (const MetricRow& metric : metrics_of_task(task_)) {
    report.metrics.emplace_back(metric.name, metric.of(answers)(all));
  }
  return report;
}

// --- sts ---

namespace {

// The metric of each part, behind their mean and their mean weighted by pairs.
void add_parts(const std::string& name, const Statistic& metric, const std::vector<StsPart>& parts,
               Report& report) {
  std::vector<std::pair<std::string, double>> of_parts;
  double sum = 0, weighted = 0, pairs = 0;
  for (const StsPart& part : parts) {
    std::vector<int64_t> places = all_positions(static_cast<size_t>(part.pairs));
    for (int64_t& place : places) place += part.begin;
    const double value = metric(places);
    of_parts.emplace_back(name + ":" + part.name, value);
    sum += value;
    weighted += value * static_cast<double>(part.pairs);
    pairs += static_cast<double>(part.pairs);
  }
  report.metrics.emplace_back(name + "_mean", sum / static_cast<double>(parts.size()));
  report.metrics.emplace_back(name + "_wmean", weighted / pairs);
  report.metrics.insert(report.metrics.end(), of_parts.begin(), of_parts.end());
}

}  // namespace

StsTask::StsTask(std::string name, PairDataset pairs, std::string head,
                 const std::vector<StsPart>& parts)
    : PairDataTask("sts", std::move(name), std::move(pairs)), head_(std::move(head)) {
  SIMILE_CHECK(data().size() >= 2, ErrorKind::kInput,
               fmt::format("{}: task sts needs at least two scored pairs, found {}",
                           data().report.file, data().size()));
  const auto [low, high] = std::minmax_element(data().score.begin(), data().score.end());
  SIMILE_CHECK(*low < *high, ErrorKind::kInput,
               fmt::format("{}: task sts correlates with graded gold scores, but all {} are {}; is "
                           "the score column the right one?",
                           data().report.file, data().size(), *low));
  choose_parts(parts);
}

void StsTask::choose_parts(const std::vector<StsPart>& parts) {
  int64_t begin = 0;
  for (StsPart part : parts) {
    part.begin = begin;
    begin += part.pairs;
    const auto first = data().score.begin() + part.begin;
    const bool is_constant =
        std::all_of(first, first + part.pairs, [first](double score) { return score == *first; });
    if (part.pairs >= 2 && !is_constant) {
      parts_.push_back(std::move(part));
      continue;
    }
    part_warnings_.push_back(fmt::format(
        "{}: {} and so no correlation: left out of the means over the files, though its pairs "
        "count "
        "among all",
        part.name,
        part.pairs < 2 ? fmt::format("{} scored pairs", part.pairs)
                       : fmt::format("its {} gold scores are all {:g}", part.pairs, *first)));
  }
}

Report StsTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                         Predictions* predictions) const {
  Answers answers;
  answers.gold = data().score;
  answers.score = score_checked(scorer, data(), head_);
  keep_scored_pairs(data(), answers.score, predictions_path, predictions);
  Report report = make_report(scorer, answers);
  for (const MetricRow& metric : metrics_of_task(report.task)) {
    if (!parts_.empty()) add_parts(metric.name, metric.of(answers), parts_, report);
  }
  const auto [low, high] = std::minmax_element(answers.score.begin(), answers.score.end());
  if (*low == *high) report.notes.push_back("all scores are equal: correlation is taken as 0");
  return report;
}

std::vector<std::string> StsTask::metric_names() const {
  std::vector<std::string> names = PairDataTask::metric_names();
  const std::vector<std::string> metrics = names;
  for (const std::string& metric : metrics) {
    if (parts_.empty()) break;
    for (const char* mean : {"_mean", "_wmean"}) names.push_back(metric + mean);
    for (const StsPart& part : parts_) names.push_back(metric + ":" + part.name);
  }
  return names;
}

std::vector<std::string> StsTask::warnings() const {
  std::vector<std::string> warnings = PairDataTask::warnings();
  warnings.insert(warnings.end(), part_warnings_.begin(), part_warnings_.end());
  return warnings;
}

// --- pairs ---

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

PairTask::PairTask(std::string name, PairDataset pairs, PairDataset dev, std::string head)
    : PairDataTask("pairs", std::move(name), std::move(pairs)),
      dev_(std::move(dev)),
      head_(std::move(head)),
      labels_(read_labels(data())),
      dev_labels_(dev_.size() > 0 ? read_labels(dev_) : std::vector<int>()) {}

Report PairTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                          Predictions* predictions) const {
  Answers answers;
  answers.gold = data().score;
  answers.score = score_checked(scorer, data(), head_);
  keep_scored_pairs(data(), answers.score, predictions_path, predictions);
  const bool oracle = dev_labels_.empty();
  const std::vector<double> dev_scores =
      oracle ? answers.score : score_checked(scorer, dev_, head_);
  const std::vector<int>& dev_labels = oracle ? labels_ : dev_labels_;
  answers.threshold = find_accuracy_threshold(dev_scores, dev_labels).threshold;
  answers.f1_threshold = find_f1_threshold(dev_scores, dev_labels).threshold;
  Report report = make_report(scorer, answers);
  if (oracle) {
    report.notes.push_back(
        "threshold: oracle (chosen on the evaluated pairs; give dev for a fair one)");
  }
  return report;
}

std::vector<std::string> PairTask::notes() const {
  std::vector<std::string> notes = PairDataTask::notes();
  notes.insert(notes.end(), dev_.notes.begin(), dev_.notes.end());
  return notes;
}

std::vector<std::string> PairTask::warnings() const {
  std::vector<std::string> warnings = PairDataTask::warnings();
  const std::vector<std::string> of_dev = reading_warnings(dev_);
  warnings.insert(warnings.end(), of_dev.begin(), of_dev.end());
  return warnings;
}

// --- classification ---

namespace {

struct Classified {
  std::vector<std::string> classes;  // of the head
  Answers answers;                   // places in `classes`
  std::vector<double> probability;   // of the class predicted
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
    predictions.answers.gold_class.push_back(
        places[static_cast<size_t>(data.classes[static_cast<size_t>(i)])]);
    predictions.answers.predicted.push_back(best - row);
    predictions.probability.push_back(*best);
  }
  predictions.answers.classes = static_cast<int64_t>(predictions.classes.size());
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
    predictions.gold_class.push_back(class_name(classified.answers.gold_class[i]));
    predictions.predicted.push_back(class_name(classified.answers.predicted[i]));
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

ClassificationTask::ClassificationTask(std::string name, PairDataset texts, std::string head)
    : PairDataTask("classification", std::move(name), std::move(texts)), head_(std::move(head)) {}

Report ClassificationTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                                    Predictions* predictions) const {
  const Classified classified = classify(scorer, data(), head_);
  if (!predictions_path.empty() || predictions != nullptr) {
    keep_predictions(make_predictions(data(), classified), predictions_path, predictions);
  }
  const Answers& answers = classified.answers;
  Report report = make_report(scorer, answers);
  Matrix<int64_t> confusion =
      score_classes(answers.gold_class, answers.predicted, answers.classes).confusion;
  if (const int64_t absent = count_absent(confusion); absent > 0) {
    report.notes.push_back(
        fmt::format("{} of {} classes are neither in the data nor predicted: macro_f1 leaves them "
                    "out",
                    absent, answers.classes));
  }
  report.confusion = {classified.classes, std::move(confusion)};
  return report;
}

// --- geometry ---

namespace {

constexpr size_t kLookedAt = 5000;

std::vector<std::string> distinct_texts(const PairDataset& data) {
  std::vector<std::string> distinct;
  std::unordered_set<std::string> seen;
  for (const auto* side : {&data.left, &data.right}) {
    for (const std::string& text : *side) {
      if (seen.insert(text).second) distinct.push_back(text);
    }
  }
  return distinct;
}

std::vector<std::string> spread_evenly(const std::vector<std::string>& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<std::string> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(all[i * all.size() / count]);
  return chosen;
}

}  // namespace

GeometryTask::GeometryTask(std::string name, PairDataset pairs, double positive_above)
    : PairDataTask("geometry", std::move(name), std::move(pairs)) {
  for (size_t i = 0; i < data().left.size(); ++i) {
    if (data().score[i] <= positive_above) continue;
    left_.push_back(data().left[i]);
    right_.push_back(data().right[i]);
  }
  SIMILE_CHECK(!left_.empty(), ErrorKind::kInput,
               fmt::format("{}: none of the {} pairs has a score above positive_above {:g}, and "
                           "alignment is of pairs that belong together; set it, or score_scale",
                           data().report.file, data().size(), positive_above));
  const std::vector<std::string> all = distinct_texts(data());
  SIMILE_CHECK(all.size() >= 2, ErrorKind::kInput,
               fmt::format("{}: task geometry needs at least two different texts, found {}",
                           data().report.file, all.size()));
  distinct_count_ = static_cast<int64_t>(all.size());
  distinct_ = spread_evenly(all, kLookedAt);
}

Report GeometryTask::evaluate(Scorer& scorer, const std::string&, Predictions*) const {
  Answers answers;
  answers.texts = scorer.embed(distinct_);
  answers.shares = principal_shares(answers.texts);
  answers.left = scorer.embed(left_);
  answers.right = scorer.embed(right_);
  Report report = make_report(scorer, answers);
  report.notes.push_back(fmt::format("alignment of {} positive pairs, the rest of {} texts{}",
                                     left_.size(), distinct_.size(),
                                     static_cast<int64_t>(distinct_.size()) < distinct_count_
                                         ? fmt::format(" out of {}", distinct_count_)
                                         : ""));
  return report;
}

}  // namespace simile
