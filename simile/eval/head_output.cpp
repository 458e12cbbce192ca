// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/head_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/error.h"
#include "simile/encode/head.h"

namespace simile {
namespace {

void check_logits(const HeadOutput& output, int64_t examples, int64_t columns) {
  const Matrix<float>& logits = output.logits;
  SIMILE_CHECK(logits.rows == examples && logits.cols == columns, ErrorKind::kFailed,
               fmt::format("expected logits of {} x {} of a head that gives {}, found {} x {}",
                           examples, columns, output.kind, logits.rows, logits.cols));
  for (int64_t i = 0; i < logits.rows; ++i) {
    const bool finite = std::all_of(logits.row(i), logits.row(i) + columns,
                                    [](float value) { return std::isfinite(value); });
    SIMILE_CHECK(finite, ErrorKind::kFailed,
                 fmt::format("the logits of example {} (numbered from 0) are not finite: the model "
                             "or its training is broken",
                             i));
  }
}

}  // namespace

std::vector<std::string> head_classes(const HeadOutput& output) {
  if (output.kind == "probability" && output.class_names.empty()) return {"0", "1"};
  const size_t count = output.class_names.size();
  SIMILE_CHECK(
      (output.kind == "classes" && count > 0) || (output.kind == "probability" && count == 2),
      ErrorKind::kRecipe,
      fmt::format("expected a head that tells classes apart, found one that gives {} and names {} "
                  "classes",
                  output.kind, count));
  return output.class_names;
}

Matrix<double> class_probabilities(const HeadOutput& output, int64_t examples) {
  const auto k = static_cast<int64_t>(head_classes(output).size());
  const bool one_logit = output.kind == "probability";
  check_logits(output, examples, one_logit ? 1 : k);
  Matrix<double> probabilities(examples, k);
  for (int64_t i = 0; i < examples; ++i) {
    const float* logits = output.logits.row(i);
    if (one_logit) {
      probabilities.at(i, 0) = sigmoid(-static_cast<double>(logits[0]));
      probabilities.at(i, 1) = sigmoid(logits[0]);
    } else {
      softmax(logits, k, probabilities.row(i));
    }
  }
  return probabilities;
}

std::vector<double> head_scores(const HeadOutput& output, int64_t examples) {
  if (output.kind == "score") {
    check_logits(output, examples, 1);
    return {output.logits.values.begin(), output.logits.values.end()};
  }
  const std::vector<std::string> classes = head_classes(output);
  SIMILE_CHECK(classes.size() == 2, ErrorKind::kRecipe,
               fmt::format("expected a head that gives a pair one number or two classes, found one "
                           "with {} classes; evaluate it with the task classification",
                           classes.size()));
  const Matrix<double> probabilities = class_probabilities(output, examples);
  std::vector<double> scores;
  for (int64_t i = 0; i < examples; ++i) scores.push_back(probabilities.at(i, 1));
  return scores;
}

}  // namespace simile
