// SPDX-License-Identifier: Apache-2.0
#include "simile/index/score_fusion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "simile/core/detail/check.h"

namespace simile {
namespace {

constexpr double kRankOffset = 60;

void standardise(double* scores, int64_t count) {
  double* const end = scores + count;
  const auto [low, high] = std::minmax_element(scores, end);
  if (*low == *high) {  // their rounded mean may be another number
    std::fill(scores, end, 0.0);
    return;
  }
  const auto n = static_cast<double>(count);
  double sum = 0, squares = 0;
  for (const double* s = scores; s < end; ++s) sum += *s;
  const double mean = sum / n;
  for (const double* s = scores; s < end; ++s) squares += (*s - mean) * (*s - mean);
  const double deviation = std::sqrt(squares / n);
  for (double* s = scores; s < end; ++s) *s = (*s - mean) / deviation;
}

// Those that score `not_found` have no rank and become 0.
void take_reciprocal_ranks(double* scores, int64_t count, const double* not_found) {
  std::vector<double> sorted(scores, scores + count);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (int64_t i = 0; i < count; ++i) {
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), scores[i], std::greater<>());
    const bool is_found = not_found == nullptr || scores[i] != *not_found;
    scores[i] = is_found ? 1 / (kRankOffset + 1 + static_cast<double>(first - sorted.begin())) : 0;
  }
}

// (s + shift) / (max + shift)
void divide_by_highest(double* scores, int64_t count, double shift) {
  const double highest = *std::max_element(scores, scores + count) + shift;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = highest > 0 ? (scores[i] + shift) / highest : 0;
  }
}

void check_cosines(const double* scores, int64_t count) {
  constexpr double kLimit = 1 + 1e-3;  // cosines of floats may be a little beyond 1
  const auto other = std::find_if(scores, scores + count,
                                  [](double score) { return !(std::fabs(score) <= kLimit); });
  SIMILE_CHECK(other == scores + count, ErrorKind::kUsage,
               "the rule max takes cosines, from -1 to 1, and a vector's score is {}: "
               "the model compares its vectors in another way; take zsum or rrf",
               *other);
}

}  // namespace

FusionRule parse_fusion_rule(const std::string& name) {
  if (name == "zsum") return FusionRule::kZSum;
  if (name == "rrf") return FusionRule::kReciprocalRank;
  SIMILE_CHECK(name == "max", ErrorKind::kRecipe,
               "hybrid_rule: expected zsum, rrf or max, found '{}'", name);
  return FusionRule::kMax;
}

void scale_vector_scores(FusionRule rule, double* scores, int64_t count) {
  if (count == 0) return;
  if (rule == FusionRule::kZSum) return standardise(scores, count);
  if (rule == FusionRule::kReciprocalRank) return take_reciprocal_ranks(scores, count, nullptr);
  check_cosines(scores, count);
  divide_by_highest(scores, count, 1);
}

void scale_word_scores(FusionRule rule, double* scores, int64_t count) {
  constexpr double kNotFound = 0;
  if (count == 0) return;
  if (rule == FusionRule::kZSum) return standardise(scores, count);
  if (rule == FusionRule::kReciprocalRank) return take_reciprocal_ranks(scores, count, &kNotFound);
  divide_by_highest(scores, count, 0);
}

void fuse_scores(FusionRule rule, double weight, double* vectors, double* words, int64_t count) {
  scale_vector_scores(rule, vectors, count);
  scale_word_scores(rule, words, count);
  for (int64_t i = 0; i < count; ++i) vectors[i] = fuse_scaled(weight, vectors[i], words[i]);
}

}  // namespace simile
