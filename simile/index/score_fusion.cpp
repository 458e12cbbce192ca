// SPDX-License-Identifier: Apache-2.0
#include "simile/index/score_fusion.h"

#include <algorithm>
#include <functional>

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

void check_cosines(const double* scores, int64_t count) {
  const auto* const other = std::find_if_not(scores, scores + count, may_be_cosine);
  SIMILE_CHECK(other == scores + count, ErrorKind::kUsage,
               "the rule max takes cosines, from -1 to 1, and a vector's score is {}: "
               "the model compares its vectors in another way; take zsum or rrf",
               *other);
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

bool may_be_cosine(double score) {
  constexpr double kLimit = 1 + 1e-3;  // cosines of floats may be a little beyond 1
  return std::fabs(score) <= kLimit;
}

double FusedScore::of_vector(double score) const {
  if (rule == FusionRule::kCosine) return score / spread;
  return highest_vector + 1 > 0 ? (score + 1) / (highest_vector + 1) : 0;
}

double FusedScore::of_words(double score) const {
  return highest_words > 0 ? score / highest_words : 0;
}

void scale_scores(FusionRule rule, double spread, double* vectors, double* words, int64_t count) {
  constexpr double kNotFound = 0;
  if (count == 0) return;
  if (rule == FusionRule::kZSum) {
    standardise(vectors, count);
    standardise(words, count);
  } else if (rule == FusionRule::kReciprocalRank) {
    take_reciprocal_ranks(vectors, count, nullptr);
    take_reciprocal_ranks(words, count, &kNotFound);
  } else {
    if (rule == FusionRule::kMax) check_cosines(vectors, count);
    const FusedScore fused{rule, 1, spread, *std::max_element(vectors, vectors + count),
                           *std::max_element(words, words + count)};
    std::transform(vectors, vectors + count, vectors, [&](double s) { return fused.of_vector(s); });
    std::transform(words, words + count, words, [&](double s) { return fused.of_words(s); });
  }
}

void fuse_scores(FusionRule rule, double weight, double spread, double* vectors, double* words,
                 int64_t count) {
  scale_scores(rule, spread, vectors, words, count);
  for (int64_t i = 0; i < count; ++i) vectors[i] = fuse_scaled(weight, vectors[i], words[i]);
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
