// SPDX-License-Identifier: Apache-2.0
#include "simile/index/reranker.h"

#include <algorithm>
#include <utility>

#include "simile/core/check.h"

namespace simile {

const Head* find_joint_head(const std::vector<Head>& heads) {
  const auto found = std::find_if(heads.begin(), heads.end(), [](const Head& head) {
    return head.settings().input == "joint" && head.logit_count() == 1;
  });
  return found == heads.end() ? nullptr : &*found;
}

Reranker::Reranker(std::shared_ptr<const SentenceEncoder> encoder, std::vector<Head> heads,
                   const std::string& name)
    : encoder_(std::move(encoder)), heads_(std::move(heads)), head_(find_joint_head(heads_)) {
  SIMILE_CHECK(head_ != nullptr, ErrorKind::kInput,
               "the model '{}' cannot re-rank: it has no head with input joint and one "
               "output, which reads query and text together",
               name);
}

std::vector<double> Reranker::score(const std::string& query, const std::vector<std::string>& texts,
                                    EventSink& events, EncodeCounts* counts, bool raw) const {
  const std::vector<std::string> queries(texts.size(), query);
  const Matrix<float> logits =
      Predictor(*encoder_, *head_).predict(queries, texts, {}, events, counts);
  std::vector<double> scores(logits.values.begin(), logits.values.end());
  if (!raw && head_->settings().output == "probability") {
    std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid);
  }
  return scores;
}

void Reranker::rerank(const std::string& query, std::vector<SearchHit>& hits, int64_t top_k,
                      EventSink& events, EncodeCounts* counts) const {
  std::vector<std::string> texts;
  for (const SearchHit& hit : hits) texts.push_back(hit.text);
  const std::vector<double> scores = score(query, texts, events, counts);
  for (size_t i = 0; i < hits.size(); ++i) {
    hits[i].by_search = hits[i].score;
    hits[i].score = scores[i];
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const SearchHit& a, const SearchHit& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), static_cast<size_t>(std::max<int64_t>(top_k, 0))));
}

std::shared_ptr<const Reranker> load_reranker(const std::string& model, const LoadEncoder& load,
                                              EventSink& events) {
  const auto encoder =
      std::make_shared<const SentenceEncoder>(load_encoder(model, "fp32", load, events));
  return std::make_shared<const Reranker>(
      encoder, load_heads(open_model_folder(model, silent_events(), ModelUse::kPairs)), model);
}

}  // namespace simile
