// SPDX-License-Identifier: Apache-2.0
#include "simile/train/collapse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/kernel/embedding_geometry.h"

namespace simile {
namespace {

constexpr size_t kSampledTexts = 200;
constexpr double kAlike = 0.99;
// Parts of the margin. Batches without a triplet, such as an epoch's last of one text, count 0 in
// the mean.
constexpr double kNearMargin = 0.15;
constexpr double kNearZero = 0.2;

double mean_distance(const Matrix<float>& vectors) {
  double sum = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      double square = 0;
      for (int64_t d = 0; d < vectors.cols; ++d) {
        const double difference = static_cast<double>(vectors.at(i, d)) - vectors.at(j, d);
        square += difference * difference;
      }
      sum += std::sqrt(square);
    }
  }
  const auto n = static_cast<double>(vectors.rows);
  return sum / (n * (n - 1) / 2);
}

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

std::string describe_collapse(const Matrix<float>& vectors) {
  const double mean = mean_cosine(vectors);
  if (mean <= kAlike) return "";
  return fmt::format(
      "THE MODEL HAS COLLAPSED: {} different texts of the training data have a mean cosine of "
      "{:.4f}, so that it can hardly tell them apart. Train with negatives (mnrl, bsc) or with "
      "scores that differ, with a lower learning rate or fewer steps",
      vectors.rows, mean);
}

std::string describe_margin(const std::string& stage, const TripletOptions& options, double loss,
                            const Matrix<float>& vectors) {
  if (vectors.rows < 2 || std::abs(loss - options.margin) > kNearMargin * options.margin) return "";
  const double distance =
      options.distance == "cosine" ? 1 - mean_cosine(vectors) : mean_distance(vectors);
  if (distance > kNearZero * options.margin) return "";
  return fmt::format(
      "stage '{}': THE TRIPLETS HAVE COLLAPSED: the loss stands at its margin ({:.4f} of {:g}), as "
      "the distances of {} different texts are near 0 ({:.4f} on average), where a positive is as "
      "far as a negative and nothing is learned. {} a lower learning_rate, and order: classes, "
      "which gives every anchor positives",
      stage, loss, options.margin, vectors.rows, distance,
      options.mining == "batch_hard" ? "mining: batch_hard, the hardest triplets alone, often ends "
                                       "so: take batch_semi_hard or "
                                       "batch_all,"
                                     : "Take");
}

}  // namespace simile
