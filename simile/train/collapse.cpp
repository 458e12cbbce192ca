// SPDX-License-Identifier: Apache-2.0
#include "simile/train/collapse.h"

#include <fmt/format.h>

#include <cmath>

namespace simile {
namespace {

constexpr size_t kSampledTexts = 200;
constexpr double kAlike = 0.99;

}  // namespace

std::vector<std::vector<int32_t>> sample_texts(
    const std::vector<std::vector<ObjectiveData>>& data) {
  for (const auto& stage : data) {
    for (const ObjectiveData& objective : stage) {
      const TrainingSet& set = *objective.train.examples;
      if (!set.second.empty() || set.texts.size() < 2) continue;
      const size_t count = std::min(kSampledTexts, set.texts.size());
      std::vector<std::vector<int32_t>> texts;
      for (size_t i = 0; i < count; ++i) texts.push_back(set.texts[i * set.texts.size() / count]);
      return texts;
    }
  }
  return {};
}

// The squared length of the sum of n unit vectors is n + n (n - 1) times their mean cosine.
double mean_cosine(const Matrix<float>& vectors) {
  if (vectors.rows < 2) return 0;
  std::vector<double> sum(static_cast<size_t>(vectors.cols));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    double square = 0;
    for (int64_t d = 0; d < vectors.cols; ++d) {
      square += static_cast<double>(vectors.at(i, d)) * static_cast<double>(vectors.at(i, d));
    }
    if (square == 0) continue;
    for (int64_t d = 0; d < vectors.cols; ++d) {
      sum[static_cast<size_t>(d)] += static_cast<double>(vectors.at(i, d)) / std::sqrt(square);
    }
  }
  double length = 0;
  for (const double value : sum) length += value * value;
  const auto n = static_cast<double>(vectors.rows);
  return (length - n) / (n * (n - 1));
}

std::string describe_collapse(const Matrix<float>& vectors) {
  const double mean = mean_cosine(vectors);
  if (mean <= kAlike) return "";
  return fmt::format(
      "THE MODEL HAS COLLAPSED: {} different texts of the training data have a mean cosine of "
      "{:.4f}, so that it can hardly tell them apart. Train with negatives (mnrl, bsc) or with "
      "scores that differ, with a lower learning rate or fewer steps",
      vectors.rows, mean);
}

}  // namespace simile
