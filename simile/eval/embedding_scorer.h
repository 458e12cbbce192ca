// SPDX-License-Identifier: Apache-2.0
// Scores by comparing embeddings. For vectors a and b of length D:
//
//   cosine     a.b / (|a| |b|); 0 when one of them is all zeros. Equal vectors get exactly 1, so
//              that equal texts tie in rank correlations despite rounding
//   dot        a.b
//   euclidean  -|a - b|
//   manhattan  -sum_i |a_i - b_i|
//
// Each call embeds every distinct text once, and from a corpus only the candidates of some query.
// Memory holds the embeddings, `depth` documents per query and the vectors that embed_once() keeps.
// Scores do not depend on the number of threads. Scores of pairs are computed in double.
//
// exact_search.h makes the rankings, with its scores: floats and, for the euclidean similarity, -|a
// - b|^2. So documents, order and bits equal those of an index of the same vectors (normalised by
// normalise_rows() for the cosine). Candidates are scored by the same scan.
//
// Errors (ErrorKind::kFailed): an embedding that is not finite (with its text), or a matrix that
// has not one row per text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/scorer.h"
#include "simile/eval/shared_texts.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

double compare_exactly(Similarity similarity, const float* a, const float* b, int64_t D);

class EmbeddingScorer : public Scorer {
 public:
  using Embed = EmbedTexts;

  // Scorer::run_head() of the model.
  using RunHead =
      std::function<HeadOutput(const std::string& head, const std::vector<std::string>& left,
                               const std::vector<std::string>& right)>;

  // For rankings with models whose prompts for queries and documents differ from those for pairs.
  // Null: queries are embedded like documents, and documents like the texts of pairs.
  struct Retrieval {
    Embed queries, documents;
  };

  // Without `heads` the model has none.
  EmbeddingScorer(std::string name, Embed embed, Similarity similarity = Similarity::kCosine,
                  Retrieval retrieval = {}, RunHead heads = nullptr);

  std::string name() const override { return name_; }
  std::vector<double> score_pairs(const std::vector<std::string>& left,
                                  const std::vector<std::string>& right) override;
  std::vector<Ranking> rank(const std::vector<std::string>& queries,
                            const std::vector<std::string>& corpus,
                            const std::vector<std::vector<int64_t>>& candidates,
                            int64_t depth) override;
  std::unique_ptr<CorpusScores> score_corpus(const std::vector<std::string>& queries,
                                             const std::vector<std::string>& corpus) override;
  Matrix<float> embed(const std::vector<std::string>& texts) override;
  void embed_once(const std::shared_ptr<const SharedTexts>& texts) override;
  HeadOutput run_head(const std::string& head, const std::vector<std::string>& left,
                      const std::vector<std::string>& right) override {
    return heads_ ? heads_(head, left, right) : Scorer::run_head(head, left, right);
  }

 private:
  std::vector<Ranking> rank_candidates(const std::vector<std::string>& queries,
                                       const std::vector<std::string>& corpus,
                                       const std::vector<std::vector<int64_t>>& candidates,
                                       int64_t depth);
  const Embed& embed_documents() const {
    return retrieval_.documents ? retrieval_.documents : embed_;
  }

  std::string name_;
  Embed embed_;
  Retrieval retrieval_;
  Similarity similarity_;
  RunHead heads_;
  bool embeds_once_ = false;
};

// The heads of an encoder, which it keeps, for scorers; null without heads. `events` outlives it.
EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events);

// A model's scorer, with prompts as in the evaluators of sentence-transformers: texts of pairs get
// the prompt of the options, or the model's default; queries and documents of a ranking get those
// of their roles (EncodeOptions). `events` outlives the scorer. `counted` gets each call's
// statistics.
std::unique_ptr<EmbeddingScorer> make_encoder_scorer(
    const std::string& name, const std::shared_ptr<const SentenceEncoder>& encoder,
    std::vector<Head> heads, const EncodeOptions& options, EventSink& events,
    const std::function<void(const EncodeCounts&)>& counted = nullptr);

}  // namespace simile
