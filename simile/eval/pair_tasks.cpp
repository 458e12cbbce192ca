// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/pair_tasks.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/eval/shared_texts.h"
#include "simile/kernel/numerics.h"
#include "simile/metric/agreement.h"
#include "simile/metric/significance.h"
#include "simile/model/head_settings.h"

namespace simile {
namespace {

void append(const std::vector<std::string>& more, std::vector<std::string>& texts) {
  texts.insert(texts.end(), more.begin(), more.end());
}

// Problems met while reading the data, for Task::warnings().
std::vector<std::string> reading_warnings(const PairDataset& data) {
  const std::string warning = data.report.warning();
  return warning.empty() ? std::vector<std::string>() : std::vector<std::string>{warning};
}

// One score per pair: the scorer's own, or its named head's. Errors: kFailed for a wrong number of
// scores, or one that is not finite; Scorer::run_head()'s and head_scores()'s.
std::vector<double> score_checked(Scorer& scorer, const PairDataset& data,
                                  const std::string& head) {
  if (!head.empty()) return head_scores(scorer.run_head(head, data.left, data.right), data.size());
  std::vector<double> scores = scorer.score_pairs(data.left, data.right);
  SIMILE_CHECK(static_cast<int64_t>(scores.size()) == data.size(), ErrorKind::kFailed,
               "{} gave {} scores for {} pairs", scorer.name(), scores.size(), data.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    SIMILE_CHECK(
        std::isfinite(scores[i]), ErrorKind::kFailed,
        "{} gave the score {} for the pair '{:.60}', '{:.60}': the model or its training is broken",
        scorer.name(), scores[i], data.left[i], data.right[i]);
  }
  return scores;
}

// The base of these tasks.
class PairDataTask : public Task {
 public:
  Report evaluate(Scorer& scorer, const std::string& predictions_path,
                  Predictions* kept) const override {
    Predictions predictions;
    Report report = score(scorer, predictions);
    if (predictions.size() == 0) return report;
    if (!predictions_path.empty()) write_predictions(predictions_path, predictions);
    if (kept != nullptr) *kept = std::move(predictions);
    return report;
  }
  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names;
    for (const MetricRow& metric : metrics_of_task(task_)) names.push_back(metric.name);
    return names;
  }
  std::vector<std::string> warnings() const override { return reading_warnings(data_); }
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override { return pair_texts(data_); }

 protected:
  PairDataTask(std::string task, std::string name, PairDataset data, std::string head = "")
      : task_(std::move(task)),
        name_(std::move(name)),
        head_(std::move(head)),
        data_(std::move(data)) {}

  virtual Report score(Scorer& scorer, Predictions& predictions) const = 0;

  const PairDataset& data() const { return data_; }
  const std::string& head() const { return head_; }

  // The report of these answers: what was evaluated, and each metric of the task.
  Report make_report(const Scorer& scorer, const Answers& answers) const {
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

  // Gold scores and those of the pairs, for the metrics and as predictions.
  Answers score_pairs(Scorer& scorer, Predictions& predictions) const {
    Answers answers;
    answers.gold = data_.score;
    answers.score = score_checked(scorer, data_, head_);
    predictions.left = data_.left;
    predictions.right = data_.right;
    predictions.gold = answers.gold;
    predictions.score = answers.score;
    return answers;
  }

 private:
  std::string task_, name_, head_;
  PairDataset data_;
};

// --- sts ---

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

class StsTask : public PairDataTask {
 public:
  StsTask(std::string name, PairDataset pairs, std::string head, const std::vector<StsPart>& parts)
      : PairDataTask("sts", std::move(name), std::move(pairs), std::move(head)) {
    SIMILE_CHECK(data().size() >= 2, ErrorKind::kInput,
                 "{}: task sts needs at least two scored pairs, found {}", data().report.file,
                 data().size());
    const auto [low, high] = std::minmax_element(data().score.begin(), data().score.end());
    SIMILE_CHECK(*low < *high, ErrorKind::kInput,
                 "{}: task sts correlates with graded gold scores, but all {} are {}; is the score "
                 "column the right one?",
                 data().report.file, data().size(), *low);
    choose_parts(parts);
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = PairDataTask::metric_names();
    const std::vector<std::string> metrics = names;
    for (const std::string& metric : metrics) {
      if (parts_.empty()) break;
      for (const char* mean : {"_mean", "_wmean"}) names.push_back(metric + mean);
      for (const StsPart& part : parts_) names.push_back(metric + ":" + part.name);
    }
    return names;
  }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings = PairDataTask::warnings();
    append(part_warnings_, warnings);
    return warnings;
  }

 private:
  Report score(Scorer& scorer, Predictions& predictions) const override {
    const Answers answers = score_pairs(scorer, predictions);
    Report report = make_report(scorer, answers);
    for (const MetricRow& metric : metrics_of_task(report.task)) {
      if (!parts_.empty()) add_parts(metric.name, metric.of(answers), parts_, report);
    }
    const auto [low, high] = std::minmax_element(answers.score.begin(), answers.score.end());
    if (*low == *high) report.notes.push_back("all scores are equal: correlation is taken as 0");
    return report;
  }

  void choose_parts(const std::vector<StsPart>& parts) {
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
          "count among all",
          part.name,
          part.pairs < 2 ? fmt::format("{} scored pairs", part.pairs)
                         : fmt::format("its {} gold scores are all {:g}", part.pairs, *first)));
    }
  }

  std::vector<StsPart> parts_;  // that have a correlation
  std::vector<std::string> part_warnings_;
};

// --- pairs ---

std::vector<int> read_labels(const PairDataset& data) {
  std::vector<int> labels;
  for (size_t i = 0; i < data.score.size(); ++i) {
    SIMILE_CHECK(data.score[i] == 0 || data.score[i] == 1, ErrorKind::kInput,
                 "{}: task pairs needs gold scores 0 and 1, found {} in row {}; name classes with "
                 "score_names, or use task sts for graded scores",
                 data.report.file, data.score[i], i + 1);
    labels.push_back(data.score[i] == 1 ? 1 : 0);
  }
  const int64_t positives = std::count(labels.begin(), labels.end(), 1);
  SIMILE_CHECK(positives > 0 && positives < data.size(), ErrorKind::kInput,
               "{}: task pairs needs positive and negative pairs, found {} positive of {}; is the "
               "score column the right one?",
               data.report.file, positives, data.size());
  return labels;
}

class PairTask : public PairDataTask {
 public:
  PairTask(std::string name, PairDataset pairs, PairDataset dev, std::string head)
      : PairDataTask("pairs", std::move(name), std::move(pairs), std::move(head)),
        dev_(std::move(dev)),
        labels_(read_labels(data())),
        dev_labels_(dev_.size() > 0 ? read_labels(dev_) : std::vector<int>()) {}

  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings = PairDataTask::warnings();
    append(reading_warnings(dev_), warnings);
    return warnings;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = PairDataTask::notes();
    append(dev_.notes, notes);
    return notes;
  }

 private:
  Report score(Scorer& scorer, Predictions& predictions) const override {
    Answers answers = score_pairs(scorer, predictions);
    const bool oracle = dev_labels_.empty();
    const std::vector<double> dev_scores =
        oracle ? answers.score : score_checked(scorer, dev_, head());
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

  PairDataset dev_;
  std::vector<int> labels_, dev_labels_;
};

// --- classification ---

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

class ClassificationTask : public PairDataTask {
 public:
  ClassificationTask(std::string name, PairDataset texts, std::string head)
      : PairDataTask("classification", std::move(name), std::move(texts), std::move(head)) {}

 private:
  Report score(Scorer& scorer, Predictions& predictions) const override {
    const HeadOutput output = scorer.run_head(head(), data().left, data().right);
    const std::vector<std::string> classes = head_classes(output);
    const std::vector<int32_t> places =
        match_classes(data().class_names, classes, data().report.file);
    const Matrix<double> probabilities = class_probabilities(output, data().size());
    predictions.kind = PredictionKind::kClasses;
    predictions.left = data().left;
    predictions.right = data().right;
    Answers answers;  // places in `classes`
    answers.classes = static_cast<int64_t>(classes.size());
    for (int64_t i = 0; i < data().size(); ++i) {
      const double* row = probabilities.row(i);
      const double* best = std::max_element(row, row + probabilities.cols);
      const int32_t gold = places[static_cast<size_t>(data().classes[static_cast<size_t>(i)])];
      answers.gold_class.push_back(gold);
      answers.predicted.push_back(best - row);
      predictions.gold_class.push_back(classes[static_cast<size_t>(gold)]);
      predictions.predicted.push_back(classes[static_cast<size_t>(best - row)]);
      predictions.probability.push_back(*best);
    }
    Report report = make_report(scorer, answers);
    Matrix<int64_t> confusion =
        score_classes(answers.gold_class, answers.predicted, answers.classes).confusion;
    if (const int64_t absent = count_absent(confusion); absent > 0) {
      report.notes.push_back(fmt::format(
          "{} of {} classes are neither in the data nor predicted: macro_f1 leaves them out",
          absent, answers.classes));
    }
    report.confusion = {classes, std::move(confusion)};
    return report;
  }
};

// --- geometry ---

class GeometryTask : public PairDataTask {
 public:
  GeometryTask(std::string name, PairDataset pairs, double positive_above)
      : PairDataTask("geometry", std::move(name), std::move(pairs)) {
    for (size_t i = 0; i < data().left.size(); ++i) {
      if (data().score[i] <= positive_above) continue;
      left_.push_back(data().left[i]);
      right_.push_back(data().right[i]);
    }
    SIMILE_CHECK(!left_.empty(), ErrorKind::kInput,
                 "{}: none of the {} pairs has a score above positive_above {:g}, and alignment is "
                 "of pairs that belong together; set it, or score_scale",
                 data().report.file, data().size(), positive_above);
    const std::vector<std::string> all = distinct_texts(data().left, data().right);
    SIMILE_CHECK(all.size() >= 2, ErrorKind::kInput,
                 "{}: task geometry needs at least two different texts, found {}",
                 data().report.file, all.size());
    distinct_count_ = all.size();
    const size_t count = std::min<size_t>(all.size(), 5000);
    for (size_t i = 0; i < count; ++i) distinct_.push_back(all[i * all.size() / count]);
  }

 private:
  Report score(Scorer& scorer, Predictions&) const override {
    Answers answers;
    answers.texts = scorer.embed(distinct_);
    answers.shares = principal_shares(answers.texts);
    answers.left = scorer.embed(left_);
    answers.right = scorer.embed(right_);
    Report report = make_report(scorer, answers);
    report.notes.push_back(fmt::format(
        "alignment of {} positive pairs, the rest of {} texts{}", left_.size(), distinct_.size(),
        distinct_.size() < distinct_count_ ? fmt::format(" out of {}", distinct_count_) : ""));
    return report;
  }

  std::vector<std::string> left_, right_;  // of the positive pairs
  std::vector<std::string> distinct_;      // the texts that are used
  size_t distinct_count_ = 0;              // all of them
};

}  // namespace

std::unique_ptr<Task> make_sts_task(const std::string& name, PairDataset data,
                                    const std::string& head, const std::vector<StsPart>& parts) {
  return std::make_unique<StsTask>(name, std::move(data), head, parts);
}

std::unique_ptr<Task> make_pair_task(const std::string& name, PairDataset data, PairDataset dev,
                                     const std::string& head) {
  return std::make_unique<PairTask>(name, std::move(data), std::move(dev), head);
}

std::unique_ptr<Task> make_classification_task(const std::string& name, PairDataset data,
                                               const std::string& head) {
  return std::make_unique<ClassificationTask>(name, std::move(data), head);
}

std::unique_ptr<Task> make_geometry_task(const std::string& name, PairDataset data,
                                         double positive_above) {
  return std::make_unique<GeometryTask>(name, std::move(data), positive_above);
}

}  // namespace simile
