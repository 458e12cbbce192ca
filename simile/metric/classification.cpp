// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simile/core/error.h"
#include "simile/metric/detail/check.h"

namespace simile {
namespace {

void check_class(const char* side, const std::vector<int64_t>& values, size_t i, int64_t classes) {
  SIMILE_CHECK(
      values[i] >= 0 && values[i] < classes, ErrorKind::kInput,
      fmt::format("classification: expected {} classes from 0 to {}, found {} at position {}", side,
                  classes - 1, values[i], i));
}

}  // namespace

ClassificationScores score_classes(const std::vector<int64_t>& gold,
                                   const std::vector<int64_t>& predicted, int64_t classes) {
  check_same_length("classification", gold.size(), predicted.size());
  SIMILE_CHECK(!gold.empty(), ErrorKind::kInput,
               "classification: expected at least one example, found none");
  ClassificationScores scores;
  scores.confusion = Matrix<int64_t>(classes, classes);
  int64_t right = 0;
  for (size_t i = 0; i < gold.size(); ++i) {
    check_class("gold", gold, i, classes);
    check_class("predicted", predicted, i, classes);
    ++scores.confusion.at(gold[i], predicted[i]);
    if (gold[i] == predicted[i]) ++right;
  }
  scores.accuracy = static_cast<double>(right) / static_cast<double>(gold.size());

  double f1_sum = 0;
  int64_t occurring = 0;
  for (int64_t c = 0; c < classes; ++c) {
    int64_t of_class = 0, called_class = 0;
    for (int64_t other = 0; other < classes; ++other) {
      of_class += scores.confusion.at(c, other);
      called_class += scores.confusion.at(other, c);
    }
    const int64_t sum = of_class + called_class;
    const double hits = static_cast<double>(scores.confusion.at(c, c));
    scores.class_f1.push_back(sum > 0 ? 2 * hits / static_cast<double>(sum) : 0);
    f1_sum += scores.class_f1.back();
    if (sum > 0) ++occurring;
  }
  scores.macro_f1 = f1_sum / static_cast<double>(occurring);
  return scores;
}

namespace {

double divide(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

double number(int64_t count) { return static_cast<double>(count); }

// The counts when everything with at least a given score is positive, from the highest score down.
struct Step {
  double score;
  BinaryCounts counts;
};

const std::vector<double>& check_scores(const char* metric, const std::vector<double>& scores,
                                        const std::vector<int>& labels) {
  check_same_length(metric, scores.size(), labels.size());
  SIMILE_CHECK(!scores.empty(), ErrorKind::kInput,
               std::string(metric) + ": expected at least one scored example, found none");
  check_finite(metric, scores);
  return scores;
}

std::vector<Step> sweep(const char* metric, const std::vector<double>& scores,
                        const std::vector<int>& labels) {
  check_scores(metric, scores, labels);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  BinaryCounts counts;
  for (const int label : labels) ++(label != 0 ? counts.false_negatives : counts.true_negatives);
  std::vector<Step> steps;
  for (size_t i = 0; i < order.size(); ++i) {
    if (labels[order[i]] != 0) {
      ++counts.true_positives;
      --counts.false_negatives;
    } else {
      ++counts.false_positives;
      --counts.true_negatives;
    }
    const bool last_of_its_score = i + 1 == order.size() || scores[order[i + 1]] < scores[order[i]];
    if (last_of_its_score) steps.push_back({scores[order[i]], counts});
  }
  return steps;
}

double midway(double low, double high) {
  const double middle = low / 2 + high / 2;
  return middle > low ? middle : high;  // neighbouring doubles have nothing between them
}

template <typename Value>
BestThreshold find_best(const char* metric, const std::vector<double>& scores,
                        const std::vector<int>& labels, Value value) {
  const std::vector<Step> steps = sweep(metric, scores, labels);
  BinaryCounts none_positive = steps.back().counts;  // all positive, turned round
  std::swap(none_positive.true_positives, none_positive.false_negatives);
  std::swap(none_positive.false_positives, none_positive.true_negatives);
  const double above = std::nextafter(steps.front().score, std::numeric_limits<double>::max());
  BestThreshold best{above, value(none_positive)};
  for (size_t i = 0; i < steps.size(); ++i) {
    const double reached = value(steps[i].counts);
    if (reached <= best.value) continue;
    const bool lowest = i + 1 == steps.size();
    best = {lowest ? steps[i].score : midway(steps[i + 1].score, steps[i].score), reached};
  }
  return best;
}

}  // namespace

double BinaryCounts::accuracy() const {
  const int64_t right = true_positives + true_negatives;
  return divide(number(right), number(right + false_positives + false_negatives));
}

double BinaryCounts::precision() const {
  return divide(number(true_positives), number(true_positives + false_positives));
}

double BinaryCounts::recall() const {
  return divide(number(true_positives), number(true_positives + false_negatives));
}

double BinaryCounts::f1() const {
  return divide(2 * number(true_positives),
                number(2 * true_positives + false_positives + false_negatives));
}

double BinaryCounts::mcc() const {
  const double tp = number(true_positives), fp = number(false_positives);
  const double tn = number(true_negatives), fn = number(false_negatives);
  const double spread =
      std::sqrt(tp + fp) * std::sqrt(tp + fn) * std::sqrt(tn + fp) * std::sqrt(tn + fn);
  return std::clamp(divide(tp * tn - fp * fn, spread), -1.0, 1.0);
}

BestThreshold find_accuracy_threshold(const std::vector<double>& scores,
                                      const std::vector<int>& labels) {
  return find_best("accuracy threshold", scores, labels,
                   [](const BinaryCounts& counts) { return counts.accuracy(); });
}

BestThreshold find_f1_threshold(const std::vector<double>& scores, const std::vector<int>& labels) {
  return find_best("F1 threshold", scores, labels,
                   [](const BinaryCounts& counts) { return counts.f1(); });
}

BinaryCounts apply_threshold(const std::vector<double>& scores, const std::vector<int>& labels,
                             double threshold) {
  check_same_length("threshold", scores.size(), labels.size());
  check_finite("threshold", scores);
  BinaryCounts counts;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= threshold) {
      ++(labels[i] != 0 ? counts.true_positives : counts.false_positives);
    } else {
      ++(labels[i] != 0 ? counts.false_negatives : counts.true_negatives);
    }
  }
  return counts;
}

double average_precision(const std::vector<double>& scores, const std::vector<int>& labels) {
  return AveragePrecision(scores, labels)(all_positions(scores.size()));
}

AveragePrecision::AveragePrecision(const std::vector<double>& scores, std::vector<int> labels)
    : scores_(check_scores("average precision", scores, labels)), labels_(std::move(labels)) {}

double AveragePrecision::operator()(const std::vector<int64_t>& positions) const {
  std::vector<BinaryCounts> by_place(scores_.distinct());  // those of each score alone
  BinaryCounts counts;
  for (const int64_t position : positions) {
    BinaryCounts& here = by_place[scores_.place(position)];
    const bool positive = labels_[static_cast<size_t>(position)] != 0;
    ++(positive ? here.true_positives : here.false_positives);
    ++(positive ? counts.false_negatives : counts.true_negatives);
  }
  double sum = 0, recall_before = 0;
  for (auto here = by_place.rbegin(); here != by_place.rend(); ++here) {
    if (here->true_positives + here->false_positives == 0) continue;
    counts.true_positives += here->true_positives;
    counts.false_negatives -= here->true_positives;
    counts.false_positives += here->false_positives;
    const double recall = counts.recall();
    sum += (recall - recall_before) * counts.precision();
    recall_before = recall;
  }
  return sum;
}

}  // namespace simile
