// SPDX-License-Identifier: Apache-2.0
#include "simile/index/score_fusion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "simile/core/check.h"

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

void scale_vector_scores(FusionRule rule, double spread, double* scores, int64_t count) {
  if (rule == FusionRule::kZSum) return standardise(scores, count);
  if (rule == FusionRule::kReciprocalRank) return take_reciprocal_ranks(scores, count, nullptr);
  if (rule == FusionRule::kCosine) {
    std::transform(scores, scores + count, scores, [&](double score) { return score / spread; });
    return;
  }
  check_cosines(scores, count);
  divide_by_highest(scores, count, 1);
}

void scale_word_scores(FusionRule rule, double* scores, int64_t count) {
  constexpr double kNotFound = 0;
  if (rule == FusionRule::kZSum) return standardise(scores, count);
  if (rule == FusionRule::kReciprocalRank) return take_reciprocal_ranks(scores, count, &kNotFound);
  divide_by_highest(scores, count, 0);
}

}  // namespace

FusionRule parse_fusion_rule(const std::string& name) {
  if (name == "cosine") return FusionRule::kCosine;
  if (name == "zsum") return FusionRule::kZSum;
  if (name == "rrf") return FusionRule::kReciprocalRank;
  SIMILE_CHECK(name == "max", ErrorKind::kRecipe,
               "hybrid_rule: expected cosine, zsum, rrf or max, found '{}'", name);
  return FusionRule::kMax;
}

void fuse_scores(FusionRule rule, double weight, double spread, double* vectors, double* words,
                 int64_t count) {
  if (count == 0) return;
  scale_vector_scores(rule, spread, vectors, count);
  scale_word_scores(rule, words, count);
  for (int64_t i = 0; i < count; ++i) vectors[i] = weight * vectors[i] + (1 - weight) * words[i];
}

const std::vector<std::string>& spread_texts() {
  static const std::vector<std::string> texts = {
      "The train to the coast leaves at half past seven.",
      "How do I reset my password?",
      "Whales are mammals that breathe air.",
      "She painted the kitchen door dark green.",
      "The court rejected the appeal on Monday.",
      "What is the boiling point of water at sea level?",
      "Sort the list before you search it.",
      "The recipe needs two eggs and a cup of flour.",
      "Interest rates rose by a quarter of a point.",
      "He scored twice in the last ten minutes.",
      "Is there a fee for cancelling my order?",
      "The volcano last erupted in 1912."};
  return texts;
}

double similarity_spread(const std::vector<double>& scores) {
  const size_t n = spread_texts().size();
  double same = 0, all = 0;
  for (size_t i = 0; i < n * n; ++i) all += scores[i];
  for (size_t i = 0; i < n; ++i) same += scores[i * n + i];
  const auto texts = static_cast<double>(n);
  const double spread = same / texts - (all - same) / (texts * (texts - 1));
  return spread > 0 && std::isfinite(spread) ? spread : 1;
}

}  // namespace simile
