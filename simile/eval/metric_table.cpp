// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/metric_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/file.h"
#include "simile/kernel/numerics.h"
#include "simile/metric/classification.h"
#include "simile/metric/correlation.h"

namespace simile {
namespace {

using Positions = std::vector<int64_t>;

template <typename T>
std::vector<T> choose(const std::vector<T>& values, const Positions& positions) {
  std::vector<T> chosen;
  chosen.reserve(positions.size());
  for (const int64_t position : positions) chosen.push_back(values[static_cast<size_t>(position)]);
  return chosen;
}

std::vector<int> binary_labels(const std::vector<double>& gold) {
  std::vector<int> labels;
  for (const double value : gold) labels.push_back(value != 0 ? 1 : 0);
  return labels;
}

Statistic spearman_of(const Answers& answers) {
  return [gold = SortedValues(answers.gold), score = SortedValues(answers.score)](
             const Positions& at) { return pearson(score.ranks(at), gold.ranks(at)); };
}

Statistic pearson_of(const Answers& answers) {
  return [gold = answers.gold, score = answers.score](const Positions& at) {
    return pearson(choose(score, at), choose(gold, at));
  };
}

Statistic average_precision_of(const Answers& answers) {
  return AveragePrecision(answers.score, binary_labels(answers.gold));
}

// A value at one of the thresholds, which stays as it is whatever examples are chosen.
template <double Answers::*threshold, double (BinaryCounts::*value)() const>
Statistic at_threshold(const Answers& answers) {
  if (std::isnan(answers.*threshold)) return nullptr;
  return [scores = answers.score, labels = binary_labels(answers.gold),
          limit = answers.*threshold](const Positions& at) {
    return (apply_threshold(choose(scores, at), choose(labels, at), limit).*value)();
  };
}

template <double ClassificationScores::*value>
Statistic class_score(const Answers& answers) {
  return [gold = answers.gold_class, predicted = answers.predicted,
          classes = answers.classes](const Positions& at) {
    return score_classes(choose(gold, at), choose(predicted, at), classes).*value;
  };
}

// A number that is not a mean over single examples.
Statistic whole(double value) {
  return [value](const Positions&) { return value; };
}

template <int count>
Statistic first_shares(const Answers& answers) {
  const auto kept = std::min<size_t>(count, answers.shares.size());
  return whole(std::accumulate(answers.shares.begin(),
                               answers.shares.begin() + static_cast<std::ptrdiff_t>(kept), 0.0));
}

}  // namespace

const std::vector<MetricRow>& metric_table() {
  constexpr auto kFraction = MetricUnit::kFraction;
  constexpr auto kNumber = MetricUnit::kNumber;
  constexpr auto kScore = MetricUnit::kScore;
  constexpr auto kHigher = Better::kHigher;
  constexpr auto kLower = Better::kLower;
  constexpr auto kNeither = Better::kNeither;
  static const std::vector<MetricRow> rows = {
      {"spearman", "sts", kFraction, kHigher, spearman_of},
      {"pearson", "sts", kFraction, kHigher, pearson_of},
      {"f1", "pairs", kFraction, kHigher, at_threshold<&Answers::f1_threshold, &BinaryCounts::f1>},
      {"accuracy", "pairs", kFraction, kHigher,
       at_threshold<&Answers::threshold, &BinaryCounts::accuracy>},
      {"ap", "pairs", kFraction, kHigher, average_precision_of},
      {"mcc", "pairs", kFraction, kHigher,
       at_threshold<&Answers::f1_threshold, &BinaryCounts::mcc>},
      {"threshold", "pairs", kScore, kNeither,
       [](const Answers& answers) { return whole(answers.threshold); }},
      {"f1_threshold", "pairs", kScore, kNeither,
       [](const Answers& answers) { return whole(answers.f1_threshold); }},
      {"accuracy", "classification", kFraction, kHigher,
       class_score<&ClassificationScores::accuracy>},
      {"macro_f1", "classification", kFraction, kHigher,
       class_score<&ClassificationScores::macro_f1>},
      {"alignment", "geometry", kNumber, kLower,
       [](const Answers& answers) { return whole(alignment_of(answers.left, answers.right)); }},
      {"uniformity", "geometry", kNumber, kLower,
       [](const Answers& answers) { return whole(uniformity_of(answers.texts)); }},
      {"mean_cosine", "geometry", kFraction, kNeither,
       [](const Answers& answers) { return whole(mean_cosine(answers.texts)); }},
      {"pc@1", "geometry", kFraction, kNeither, first_shares<1>},
      {"pc@10", "geometry", kFraction, kNeither, first_shares<10>},
      {"masked_accuracy", "pre-training", kFraction, kHigher},
      {"perplexity", "pre-training", kNumber, kLower},
  };
  return rows;
}

std::vector<MetricRow> metrics_of_task(const std::string& task) {
  std::vector<MetricRow> rows;
  for (const MetricRow& row : metric_table()) {
    if (row.task == task) rows.push_back(row);
  }
  return rows;
}

MetricRow find_metric_row(const std::string& name) {
  std::string known = name.substr(0, name.find(':'));
  for (const char* mean : {"_wmean", "_mean"}) {
    if (ends_with(known, mean)) known.resize(known.size() - std::string(mean).size());
  }
  for (const MetricRow& row : metric_table()) {
    if (row.name == known) return row;
  }
  MetricRow other;  // metrics of rankings are all fractions, and higher is better
  other.name = known;
  return other;
}

bool is_fraction(const std::string& name) {
  return find_metric_row(name).unit == MetricUnit::kFraction;
}

}  // namespace simile
