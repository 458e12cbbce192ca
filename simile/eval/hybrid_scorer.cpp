// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/hybrid_scorer.h"

#include <cmath>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/model/model_folder.h"

namespace simile {

std::string hybrid_model(const std::string& name) {
  const bool is_bare = name == "hybrid" && !file_exists(name) && !folder_exists(name);
  if (!starts_with(name, kHybridPrefix) && !is_bare) return "";
  const std::string model = is_bare ? "" : name.substr(kHybridPrefix.size());
  SIMILE_CHECK(!model.empty(), ErrorKind::kUsage,
               "'{}' names no model: write hybrid:MODEL with what is to be taken "
               "together with BM25, such as hybrid:simile-mini-3",
               name);
  SIMILE_CHECK(model != "bm25" && !starts_with(model, kHybridPrefix), ErrorKind::kUsage,
               "'{}': a hybrid is BM25 and the vectors of a model; name a model with "
               "vectors, such as hybrid:simile-mini-3",
               name);
  return model;
}

std::string hybrid_name(const std::string& model) { return std::string(kHybridPrefix) + model; }

HybridScores::HybridScores(std::unique_ptr<CorpusScores> words,
                           std::unique_ptr<CorpusScores> vectors, const FusionOptions& fusion,
                           double spread)
    : words_(std::move(words)),
      vectors_(std::move(vectors)),
      rule_(parse_fusion_rule(fusion.rule)),
      weight_(fusion.weight),
      spread_(spread) {}

void HybridScores::hold(int64_t first, int64_t count) {
  first_held_ = first;
  held_vectors_ = Matrix<double>(count, documents());
  held_words_ = held_vectors_;
  vectors_->score(first, count, held_vectors_.row(0));
  run_parallel_blocks(count, 1, [&](int64_t i, int64_t) {
    words_->score(first + i, 1, held_words_.row(i));
    scale_scores(rule_, spread_, held_vectors_.row(i), held_words_.row(i), documents());
  });
}

void HybridScores::score(int64_t first, int64_t count, double* scores) const {
  const int64_t n = documents(), row = first - first_held_;
  if (row >= 0 && row + count <= held_vectors_.rows) {
    const double* const vectors = held_vectors_.row(row);
    const double* const words = held_words_.row(row);
    for (int64_t i = 0; i < count * n; ++i) scores[i] = fuse_scaled(weight_, vectors[i], words[i]);
    return;
  }
  vectors_->score(first, count, scores);
  run_parallel_blocks(count, 1, [&](int64_t i, int64_t) {
    std::vector<double> words(static_cast<size_t>(n));
    words_->score(first + i, 1, words.data());
    fuse_scores(rule_, weight_, spread_, scores + i * n, words.data(), n);
  });
}

void HybridScores::score_some(int64_t query, const std::vector<int64_t>& chosen,
                              double* scores) const {
  std::vector<double> words(chosen.size());
  vectors_->score_some(query, chosen, scores);
  words_->score_some(query, chosen, words.data());
  fuse_scores(rule_, weight_, spread_, scores, words.data(), static_cast<int64_t>(chosen.size()));
}

HybridScorer::HybridScorer(std::string name, std::shared_ptr<Scorer> words,
                           std::shared_ptr<Scorer> vectors, const FusionOptions& options)
    : name_(std::move(name)),
      words_(std::move(words)),
      vectors_(std::move(vectors)),
      fusion_(options) {
  parse_fusion_rule(options.rule);
  SIMILE_CHECK(options.weight >= 0 && options.weight <= 1, ErrorKind::kRecipe,
               "hybrid_weight: expected a number from 0 to 1, found {}", options.weight);
}

double HybridScorer::spread() {
  if (fusion_.rule == "cosine" && spread_ == 0) {
    const auto& texts = spread_texts();
    std::vector<double> scores(texts.size() * texts.size());
    vectors_->score_corpus(texts, texts)
        ->score(0, static_cast<int64_t>(texts.size()), scores.data());
    spread_ = similarity_spread(scores);
  }
  return spread_;
}

std::vector<double> HybridScorer::score_pairs(const std::vector<std::string>& left,
                                              const std::vector<std::string>& right) {
  std::vector<double> scores = vectors_->score_pairs(left, right);
  std::vector<double> words = words_->score_pairs(left, right);
  if (scores.empty()) return scores;
  fuse_scores(parse_fusion_rule(fusion_.rule), fusion_.weight, spread(), scores.data(),
              words.data(), static_cast<int64_t>(scores.size()));
  return scores;
}

std::unique_ptr<HybridScores> HybridScorer::score_hybrid(const std::vector<std::string>& queries,
                                                         const std::vector<std::string>& corpus) {
  return std::make_unique<HybridScores>(words_->score_corpus(queries, corpus),
                                        vectors_->score_corpus(queries, corpus), fusion_, spread());
}

std::unique_ptr<CorpusScores> HybridScorer::score_corpus(const std::vector<std::string>& queries,
                                                         const std::vector<std::string>& corpus) {
  return score_hybrid(queries, corpus);
}

std::string HybridScorer::describe(double weight) const {
  return fmt::format("{} and {}, {} with {:g} of the vectors", words_->name(), vectors_->name(),
                     fusion_.rule, weight);
}

std::vector<std::string> HybridScorer::notes() const {
  std::vector<std::string> notes = words_->notes();
  notes.insert(notes.begin(), describe(fusion_.weight) + (is_chosen_ ? ", chosen on dev" : ""));
  return notes;
}

HeadOutput HybridScorer::run_head(const std::string&, const std::vector<std::string>&,
                                  const std::vector<std::string>&) {
  throw_error(ErrorKind::kUsage,
              "{} has no heads: it adds a similarity to {}; name {} alone to have its head score",
              name_, words_->name(), vectors_->name());
}

namespace {

constexpr int64_t kSteps = 20;  // of the weights from 0 to 1
constexpr int64_t kSamples = 1000;
constexpr uint64_t kSeed = 1;
constexpr double kShare = 0.9;

// The step whose sum over the positions is highest.
int64_t best_step(const Matrix<double>& values, const std::vector<int64_t>& positions,
                  double preferred) {
  std::vector<double> sums(static_cast<size_t>(values.cols), 0);
  for (const int64_t q : positions) {
    for (int64_t w = 0; w < values.cols; ++w) sums[static_cast<size_t>(w)] += values.at(q, w);
  }
  // The same numbers in another order have sums that may differ in their last bits.
  const double tolerance = 1e-12 * static_cast<double>(positions.size());
  const auto distance = [&](int64_t step) { return std::fabs(step - preferred * kSteps); };
  int64_t best = 0;
  for (int64_t w = 1; w < values.cols; ++w) {
    const double lead = sums[static_cast<size_t>(w)] - sums[static_cast<size_t>(best)];
    const bool is_alike = std::fabs(lead) <= tolerance;
    if (is_alike ? distance(w) < distance(best) - 1e-9 : lead > 0) best = w;
  }
  return best;
}

}  // namespace

std::vector<double> hybrid_weights() {
  std::vector<double> weights;
  for (int64_t step = 0; step <= kSteps; ++step) {
    weights.push_back(static_cast<double>(step) / kSteps);
  }
  return weights;
}

WeightChoice choose_hybrid_weight(const Matrix<double>& values, double preferred) {
  const auto vote = [&](const std::vector<int64_t>& positions) {
    return static_cast<double>(best_step(values, positions, preferred));
  };
  const std::vector<double> votes = bootstrap_values(values.rows, vote, kSamples, kSeed);
  const double mean = std::accumulate(votes.begin(), votes.end(), 0.0) / kSamples;
  const int64_t step = std::llround(mean);
  const Interval steps = percentile_interval(votes, kShare);
  WeightChoice choice;
  choice.weight = static_cast<double>(step) / kSteps;
  choice.votes = {steps.low / kSteps, steps.high / kSteps};
  for (int64_t q = 0; q < values.rows; ++q) choice.value += values.at(q, step);
  choice.value /= static_cast<double>(values.rows);
  return choice;
}

}  // namespace simile
