// SPDX-License-Identifier: Apache-2.0
// How two lists agree: correlation and order of numbers, predicted classes and scores against the
// true ones. Errors (ErrorKind::kInput): other lengths, a value that is not finite (its position).
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/metric/significance.h"

namespace simile {

// Correlation of two lists of numbers, as semantic textual similarity is scored.
//
//   pearson(x, y)  = sum_i u_i v_i / sqrt(sum_i u_i^2 sum_i v_i^2),
//                    u_i = x_i - mean x, v_i = y_i - mean y
//   spearman(x, y) = pearson(average_ranks(x), average_ranks(y))
//
// The answer is a finite number in [-1, 1], never NaN: it is 0 when a side is constant or there are
// fewer than two values, where correlation is not defined. Computed in double, in input order.
double pearson(const std::vector<double>& left, const std::vector<double>& right);
double spearman(const std::vector<double>& left, const std::vector<double>& right);

// Ranks from 1 for the smallest; equal values share the mean of their ranks:
// {10, 20, 20, 30} -> {1, 2.5, 2.5, 4}.
std::vector<double> average_ranks(const std::vector<double>& values);

// Do two lists of numbers put the same things in the same order? Over the pairs that both order
// (neither has two equal numbers there), with C of them alike and D the other way:
//
//   tau = (C - D) / (C + D)   Kendall 1938; with equal numbers Goodman and Kruskal's gamma, 1954
//   p   = share of the orders of `right` with |C - D| at least as large: how often rows shuffled
//         blindly would agree (or disagree) as much. Over all n! orders if n <= 8, otherwise over
//         20,000 random ones of the stream "order" under seed 1, as (1 + hits) / (1 + 20,000).
struct OrderAgreement {
  int64_t same = 0, reversed = 0;  // pairs
  double tau = 0;                  // 0 without pairs
  double p = 1;                    // two-sided
};

OrderAgreement compare_orders(const std::vector<double>& left, const std::vector<double>& right);

// Predicted classes against the true ones.
//
//   accuracy = share of examples with predicted == gold
//   F1 of a class = 2 tp / (2 tp + fp + fn)
//   macro F1 = mean F1 of the classes that occur in gold or predicted (as scikit-learn's default)
//
// Classes are numbers in [0, classes). Errors (kInput) too: empty lists, another class (and where).
struct ClassificationScores {
  double accuracy = 0;
  double macro_f1 = 0;
  std::vector<double> class_f1;  // [classes]; 0 for a class that does not occur
  Matrix<int64_t> confusion;  // [classes, classes]: examples by gold (row) and predicted (column)
};

ClassificationScores score_classes(const std::vector<int64_t>& gold,
                                   const std::vector<int64_t>& predicted, int64_t classes);

// Scores turned into decisions: a pair is called positive when score >= threshold.
//
// The candidate thresholds are the points midway between consecutive distinct scores, the lowest
// score (all are positive) and the next number above the highest (all are negative). Among equally
// good thresholds the highest is taken.
//
//   accuracy = (tp + tn) / n          precision = tp / (tp + fp)       recall = tp / (tp + fn)
//   f1 = 2 tp / (2 tp + fp + fn)
//   mcc = (tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn))          (Matthews 1975)
//   average precision = sum over distinct scores s, from the highest, of
//                       (recall at s - recall before s) * precision at s
//
// A fraction over 0 is 0. Labels are positive when not 0. Errors (kInput) too: empty lists.
struct BestThreshold {
  double threshold = 0;
  double value = 0;  // the accuracy or F1 it reaches on the scores it was chosen on
};

BestThreshold find_accuracy_threshold(const std::vector<double>& scores,
                                      const std::vector<int>& labels);
BestThreshold find_f1_threshold(const std::vector<double>& scores, const std::vector<int>& labels);

struct BinaryCounts {
  int64_t true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;

  double accuracy() const;
  double precision() const;
  double recall() const;
  double f1() const;
  double mcc() const;
};

BinaryCounts apply_threshold(const std::vector<double>& scores, const std::vector<int>& labels,
                             double threshold);

// Does not depend on the order of equal scores. 0 when there is no positive.
double average_precision(const std::vector<double>& scores, const std::vector<int>& labels);

// The same of many choices of the examples, for which they are sorted once.
class AveragePrecision {
 public:
  AveragePrecision(const std::vector<double>& scores, std::vector<int> labels);

  // The value for the examples at `positions`, which may contain repeats.
  double operator()(const std::vector<int64_t>& positions) const;

 private:
  SortedValues scores_;
  std::vector<int> labels_;
};

}  // namespace simile
