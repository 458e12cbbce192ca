// SPDX-License-Identifier: Apache-2.0
// Predicted classes against the true ones.
//
//   accuracy = share of examples with predicted == gold
//   F1 of a class = 2 tp / (2 tp + fp + fn)
//   macro F1 = mean F1 of the classes that occur in gold or predicted (as scikit-learn's default)
//
// Classes are numbers in [0, classes). Errors (ErrorKind::kInput): lists of different length, empty
// lists, a class outside the range (with its position).
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct ClassificationScores {
  double accuracy = 0;
  double macro_f1 = 0;
  std::vector<double> class_f1;  // [classes]; 0 for a class that does not occur
  Matrix<int64_t> confusion;  // [classes, classes]: examples by gold (row) and predicted (column)
};

ClassificationScores score_classes(const std::vector<int64_t>& gold,
                                   const std::vector<int64_t>& predicted, int64_t classes);

}  // namespace simile
