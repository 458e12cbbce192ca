// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/encoder_scorer.h"

#include "simile/encode/predictor.h"

namespace simile {

EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events) {
  if (heads.empty()) return nullptr;
  return [encoder = std::move(encoder), heads = std::move(heads), options, &events](
             const std::string& name, const std::vector<std::string>& left,
             const std::vector<std::string>& right) {
    std::vector<HeadSettings> settings;
    for (const Head& head : heads) settings.push_back(head.settings());
    const Head& head = heads[find_head(settings, name)];
    return HeadOutput{head.settings().output, head.settings().class_names,
                      Predictor(*encoder, head).predict(left, right, options, events)};
  };
}

std::unique_ptr<EmbeddingScorer> make_encoder_scorer(
    const std::string& name, const std::shared_ptr<const SentenceEncoder>& encoder,
    std::vector<Head> heads, const EncodeOptions& options, EventSink& events,
    const std::function<void(const EncodeCounts&)>& counted) {
  const auto embed_as = [&](TextRole role) -> EmbeddingScorer::Embed {
    EncodeOptions of_role = options;
    of_role.role = role;
    return [encoder, of_role, counted, &events](const std::vector<std::string>& texts) {
      EncodeCounts counts;
      Matrix<float> vectors = encoder->encode(texts, of_role, events, &counts);
      if (counted) counted(counts);
      return vectors;
    };
  };
  const auto prompt_of = [&](TextRole role) {
    EncodeOptions of_role = options;
    of_role.role = role;
    return encoder->prompt(of_role);
  };
  EmbeddingScorer::Retrieval retrieval;
  if (prompt_of(TextRole::kDocument) != prompt_of(TextRole::kAny)) {
    retrieval.documents = embed_as(TextRole::kDocument);
  }
  if (prompt_of(TextRole::kQuery) != prompt_of(TextRole::kDocument)) {
    retrieval.queries = embed_as(TextRole::kQuery);
  }
  return std::make_unique<EmbeddingScorer>(
      name, embed_as(TextRole::kAny), parse_similarity(encoder->settings().similarity), retrieval,
      head_runner(encoder, std::move(heads), options, events));
}

}  // namespace simile
