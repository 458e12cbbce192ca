// SPDX-License-Identifier: Apache-2.0
// Texts in, logits of a task head out: single texts, pairs embedded apart, or pairs as one
// sequence.
//
//   const Predictor predictor(encoder, head);
//   const Matrix<float> logits = predictor.predict(texts, {}, {}, silent_events());
//   const Matrix<float> probabilities = head_probabilities(head.settings(), logits);
//
// Logits are the same, bit for bit, whatever texts come with them and with however many threads.
// Const methods may run in several threads at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/search_index.h"

namespace simile {

class Predictor {
 public:
  // Both must outlive the predictor. Errors (kInput): a head for another size of embedding.
  Predictor(const SentenceEncoder& encoder, const Head& head);

  // Logits [texts, k]. `pairs` holds the second text of each where the head takes pairs (input pair
  // or joint), else nothing. Of `options`, batch_tokens and the prompts count, which a joint input
  // does not have; heads see whole embeddings before Normalize. Progress: task "embed".
  // Errors (kInput): pairs missing, not wanted or of another number; else as encode().
  Matrix<float> predict(const std::vector<std::string>& texts,
                        const std::vector<std::string>& pairs, const EncodeOptions& options,
                        EventSink& events, EncodeCounts* counts = nullptr) const;

 private:
  const SentenceEncoder& encoder_;
  const Head& head_;
};

// The first head with input joint that gives one number; null: there is none.
const Head* find_joint_head(const std::vector<Head>& heads);

// Scores texts that a search found again, by a head that reads query and text together (a
// cross-encoder).
class Reranker {
 public:
  // `name` is the model's in messages. Errors (kInput): none of the heads is such a one.
  Reranker(std::shared_ptr<const SentenceEncoder> encoder, std::vector<Head> heads,
           const std::string& name);
  Reranker(const Reranker&) = delete;
  Reranker& operator=(const Reranker&) = delete;

  // A score of each text for the query, higher is better: its probability where the head gives one
  // and not `raw`, else its number. Added to `counts`.
  std::vector<double> score(const std::string& query, const std::vector<std::string>& texts,
                            EventSink& events, EncodeCounts* counts = nullptr,
                            bool raw = false) const;

  // Gives all hits such a score in place of that of the search, which becomes `by_search`, orders
  // them by it, equal ones as they stood, and keeps the first top_k.
  void rerank(const std::string& query, std::vector<SearchHit>& hits, int64_t top_k,
              EventSink& events, EncodeCounts* counts = nullptr) const;

  const SentenceEncoder& encoder() const { return *encoder_; }
  const Head& head() const { return *head_; }

 private:
  std::shared_ptr<const SentenceEncoder> encoder_;
  std::vector<Head> heads_;
  const Head* head_;
};

// What simile::Reranker::rerank() does with the scores.
void order_by_scores(const std::vector<double>& scores, std::vector<SearchHit>& hits,
                     int64_t top_k);

}  // namespace simile
