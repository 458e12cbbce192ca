// SPDX-License-Identifier: Apache-2.0
// A model and BM25 together, `hybrid:MODEL` wherever a model is named to be evaluated: the two
// scores of every document for a query, fused by simile/index/score_fusion.h over the documents
// that are ranked, the whole corpus or the candidates. Documents that BM25 does not find get BM25
// score 0 before scaling, so every document is found. The scores of all pairs of a set are scaled
// together as one list, so a threshold of one set holds for a similar one.
//
//   HybridScorer scorer("hybrid:mini", std::make_shared<Bm25Scorer>(), model);
//
// Equal fused scores are ordered by position, as with every scorer. Same for any threads.
//
// Errors: those of the two scorers and of score_fusion.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/eval/scorer.h"
#include "simile/index/score_fusion.h"
#include "simile/metric/significance.h"

namespace simile {

// MODEL of "hybrid:MODEL"; empty for a name without that prefix. Errors (ErrorKind::kUsage): no
// model behind the prefix, or one that has no vectors to add to BM25.
std::string hybrid_model(const std::string& name);

// "hybrid:MODEL" of MODEL.
std::string hybrid_name(const std::string& model);

// Both scores of queries with a corpus.
class HybridScores : public CorpusScores {
 public:
  HybridScores(std::unique_ptr<CorpusScores> words, std::unique_ptr<CorpusScores> vectors,
               const FusionOptions& fusion, double spread);

  void set_weight(double weight) { weight_ = weight; }
  // Keeps the scaled scores of these queries, [count, documents()] twice, until the next call, so
  // that score() of them by another weight only adds.
  void hold(int64_t first, int64_t count);

  int64_t documents() const override { return vectors_->documents(); }
  void score(int64_t first, int64_t count, double* scores) const override;
  void score_some(int64_t query, const std::vector<int64_t>& chosen, double* scores) const override;

 private:
  std::unique_ptr<CorpusScores> words_, vectors_;
  FusionRule rule_;
  double weight_, spread_;
  int64_t first_held_ = 0;
  Matrix<double> held_vectors_, held_words_;
};

class HybridScorer : public Scorer {
 public:
  // `words` scores texts 0 or more, and 0 where they share no word.
  HybridScorer(std::string name, std::shared_ptr<Scorer> words, std::shared_ptr<Scorer> vectors,
               const FusionOptions& options = {});

  std::string name() const override { return name_; }
  std::vector<double> score_pairs(const std::vector<std::string>& left,
                                  const std::vector<std::string>& right) override;
  std::unique_ptr<CorpusScores> score_corpus(const std::vector<std::string>& queries,
                                             const std::vector<std::string>& corpus) override;
  void embed_once(const std::shared_ptr<const SharedTexts>& texts) override {
    vectors_->embed_once(texts);
  }
  std::vector<std::string> notes() const override;
  // A hybrid has no heads: ErrorKind::kUsage.
  HeadOutput run_head(const std::string& head, const std::vector<std::string>& left,
                      const std::vector<std::string>& right) override;

  // score_corpus() by its own name.
  std::unique_ptr<HybridScores> score_hybrid(const std::vector<std::string>& queries,
                                             const std::vector<std::string>& corpus);
  const FusionOptions& fusion() const { return fusion_; }
  // Sets a weight that was chosen on dev; notes() then says so.
  void take_chosen(double weight) {
    fusion_.weight = weight;
    is_chosen_ = true;
  }
  // The text of notes() for another weight.
  std::string describe(double weight) const;

 private:
  double spread();

  std::string name_;
  std::shared_ptr<Scorer> words_, vectors_;
  FusionOptions fusion_;
  double spread_ = 0;  // of the vectors; 0: not measured yet
  bool is_chosen_ = false;
};

// 0, 0.05, .. 1.
std::vector<double> hybrid_weights();

// The weight of the vectors in a hybrid, chosen on judged queries that are not tested on. A metric
// of some 80 queries is flat over the weights, and its best weight mostly chance. So queries are
// drawn with replacement (simile/metric/significance.h), every sample votes for its best weight,
// and the mean of the votes is taken, which is near the middle of equally good weights.
struct WeightChoice {
  double weight = 0;  // one of hybrid_weights()
  Interval votes;     // between which nine of ten samples' weights lie
  double value = 0;   // mean of the metric over all queries, with that weight
};

// values [queries, hybrid_weights()]: a metric of each query; higher is better. Among equally good
// weights, the one nearest to `preferred` gets the vote, or the lower of two. 1,000 samples of the
// stream "bootstrap" under seed 1; same for any threads. Errors (kInput): no queries.
WeightChoice choose_hybrid_weight(const Matrix<double>& values, double preferred);

}  // namespace simile
