// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/classification.h"

#include <fmt/format.h>

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

}  // namespace simile
