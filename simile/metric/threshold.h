// SPDX-License-Identifier: Apache-2.0
// Scores turned into decisions: a pair is called positive when score >= threshold.
//
// The candidate thresholds are the points midway between consecutive distinct scores, the lowest
// score (all are positive) and the next number above the highest (all are negative). Of equally
// good thresholds the highest is taken.
//
//   accuracy = (tp + tn) / n          precision = tp / (tp + fp)       recall = tp / (tp + fn)
//   f1 = 2 tp / (2 tp + fp + fn)
//   mcc = (tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn))          (Matthews 1975)
//   average precision = sum over distinct scores s, from the highest, of
//                       (recall at s - recall before s) * precision at s
//
// A fraction whose denominator is 0 is 0. Labels are positive when not 0. Errors
// (ErrorKind::kInput): lists of different length, empty lists, a score that is not finite.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/metric/sorted_values.h"

namespace simile {

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

  // Of the examples at `positions`, of which any may occur several times.
  double operator()(const std::vector<int64_t>& positions) const;

 private:
  SortedValues scores_;
  std::vector<int> labels_;
};

}  // namespace simile
