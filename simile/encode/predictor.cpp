// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simile/core/error.h"

namespace simile {

Predictor::Predictor(const SentenceEncoder& encoder, const Head& head)
    : encoder_(encoder), head_(head) {
  const int64_t hidden = encoder.settings().embedding_size();
  SIMILE_CHECK(head.embedding_size() == hidden, ErrorKind::kInput,
               fmt::format("head '{}' takes embeddings of size {}, the encoder's have {}",
                           head.settings().name, head.embedding_size(), hidden));
}

Matrix<float> Predictor::predict(const std::vector<std::string>& texts,
                                 const std::vector<std::string>& pairs,
                                 const EncodeOptions& options, EventSink& events,
                                 EncodeCounts* counts) const {
  const HeadSettings& settings = head_.settings();
  const size_t expected = head_takes_pairs(settings) ? texts.size() : 0;
  SIMILE_CHECK(pairs.size() == expected, ErrorKind::kInput,
               fmt::format("head '{}' of input {}: expected {} second texts for {} texts, found {}",
                           settings.name, settings.input, expected, texts.size(), pairs.size()));
  EncodeOptions whole = options;
  whole.normalize = false;
  whole.dimensions = head_.embedding_size();
  if (settings.input == "joint") {
    return head_.logits(encoder_.encode_pairs(texts, pairs, whole, events, counts));
  }
  const Matrix<float> u = encoder_.encode(texts, whole, events, counts);
  if (settings.input == "single") return head_.logits(u);
  return head_.logits(u, encoder_.encode(pairs, whole, events, counts));
}

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
               fmt::format("the model '{}' cannot re-rank: it has no head with input joint and one "
                           "output, which reads query and text together",
                           name));
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
  order_by_scores(score(query, texts, events, counts), hits, top_k);
}

void order_by_scores(const std::vector<double>& scores, std::vector<SearchHit>& hits,
                     int64_t top_k) {
  for (size_t i = 0; i < hits.size(); ++i) {
    hits[i].by_search = hits[i].score;
    hits[i].score = scores[i];
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const SearchHit& a, const SearchHit& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), static_cast<size_t>(std::max<int64_t>(top_k, 0))));
}

}  // namespace simile
