// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

// Differences from the mean, scaled so that no square can overflow or vanish; empty when constant.
std::vector<double> centre(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return {};
  const double scale = std::max(std::fabs(*low), std::fabs(*high));
  std::vector<double> centred(values.size());
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += centred[i] = values[i] / scale;
  const double mean = sum / static_cast<double>(values.size());
  double largest = 0;
  for (double& value : centred) {
    value -= mean;
    largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0) return {};
  for (double& value : centred) value /= largest;
  return centred;
}

constexpr size_t kMostCounted = 8;  // rows of which all orders are tried
constexpr int64_t kSamples = 20000;

int sign_of(double difference) { return (difference > 0) - (difference < 0); }

OrderAgreement count_pairs(const std::vector<double>& left, const std::vector<double>& right) {
  OrderAgreement pairs;
  for (size_t a = 0; a < left.size(); ++a) {
    for (size_t b = a + 1; b < left.size(); ++b) {
      const int product = sign_of(left[a] - left[b]) * sign_of(right[a] - right[b]);
      pairs.same += product > 0 ? 1 : 0;
      pairs.reversed += product < 0 ? 1 : 0;
    }
  }
  return pairs;
}

int64_t distance_of(const OrderAgreement& pairs) { return std::abs(pairs.same - pairs.reversed); }

// Places distinguish equal numbers, so each order of them counts equally often.
double share_of_all(const std::vector<double>& left, const std::vector<double>& right,
                    int64_t distance) {
  std::vector<size_t> order(right.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<double> shuffled(right.size());
  int64_t hits = 0, all = 0;
  do {
    for (size_t i = 0; i < order.size(); ++i) shuffled[i] = right[order[i]];
    hits += distance_of(count_pairs(left, shuffled)) >= distance ? 1 : 0;
    ++all;
  } while (std::next_permutation(order.begin(), order.end()));
  return static_cast<double>(hits) / static_cast<double>(all);
}

double share_of_samples(const std::vector<double>& left, std::vector<double> right,
                        int64_t distance) {
  RandomStream stream(1, "order");
  int64_t hits = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    shuffle(right, stream);
    hits += distance_of(count_pairs(left, right)) >= distance ? 1 : 0;
  }
  return static_cast<double>(1 + hits) / static_cast<double>(1 + kSamples);
}

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
    best = {steps[i].score, reached};
    if (i + 1 == steps.size()) continue;
    const double below = steps[i + 1].score, middle = below / 2 + steps[i].score / 2;
    if (middle > below) best.threshold = middle;  // neighbouring doubles have nothing between them
  }
  return best;
}

}  // namespace

double pearson(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("pearson", left.size(), right.size());
  check_finite("pearson", left);
  check_finite("pearson", right);
  if (left.size() < 2) return 0;
  const std::vector<double> x = centre(left), y = centre(right);
  if (x.empty() || y.empty()) return 0;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

std::vector<double> average_ranks(const std::vector<double>& values) {
  check_finite("average_ranks", values);
  return SortedValues(values).ranks(all_positions(values.size()));
}

double spearman(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("spearman", left.size(), right.size());
  return pearson(average_ranks(left), average_ranks(right));
}

OrderAgreement compare_orders(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("compare_orders", left.size(), right.size());
  check_finite("compare_orders", left);
  check_finite("compare_orders", right);
  OrderAgreement agreement = count_pairs(left, right);
  const int64_t pairs = agreement.same + agreement.reversed;
  if (pairs == 0) return agreement;
  agreement.tau =
      static_cast<double>(agreement.same - agreement.reversed) / static_cast<double>(pairs);
  const int64_t distance = distance_of(agreement);
  agreement.p = left.size() <= kMostCounted ? share_of_all(left, right, distance)
                                            : share_of_samples(left, right, distance);
  return agreement;
}

ClassificationScores score_classes(const std::vector<int64_t>& gold,
                                   const std::vector<int64_t>& predicted, int64_t classes) {
  check_same_length("classification", gold.size(), predicted.size());
  SIMILE_CHECK(!gold.empty(), ErrorKind::kInput,
               "classification: expected at least one example, found none");
  ClassificationScores scores;
  scores.confusion = Matrix<int64_t>(classes, classes);
  int64_t right = 0;
  for (size_t i = 0; i < gold.size(); ++i) {
    const auto check = [&](const char* side, int64_t value) {
      SIMILE_CHECK(value >= 0 && value < classes, ErrorKind::kInput,
                   "classification: expected {} classes from 0 to {}, found {} at position {}",
                   side, classes - 1, value, i);
    };
    check("gold", gold[i]);
    check("predicted", predicted[i]);
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
