// SPDX-License-Identifier: Apache-2.0
// Scores texts that a search found again, by a head that reads query and text together (a
// cross-encoder).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/index_model.h"
#include "simile/index/search_query.h"

namespace simile {

// The first head with input joint that gives one number; null: there is none.
const Head* find_joint_head(const std::vector<Head>& heads);

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

  // Scores all hits and orders them by the new score; equal ones keep their order. The score of the
  // search becomes `by_search`. Keeps the first top_k.
  void rerank(const std::string& query, std::vector<SearchHit>& hits, int64_t top_k,
              EventSink& events, EncodeCounts* counts = nullptr) const;

  const SentenceEncoder& encoder() const { return *encoder_; }
  const Head& head() const { return *head_; }

 private:
  std::shared_ptr<const SentenceEncoder> encoder_;
  std::vector<Head> heads_;
  const Head* head_;
};

// A model that re-ranks. Errors (kInput): it has no head for that.
std::shared_ptr<const Reranker> load_reranker(const std::string& model, const LoadEncoder& load,
                                              EventSink& events);

}  // namespace simile
