// SPDX-License-Identifier: Apache-2.0
#include "simile/train/evaluations.h"

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/lexical_baseline.h"

namespace simile {

Evaluations::Evaluations(const std::vector<EvaluationOptions>& options, EventSink& events) {
  for (const EvaluationOptions& evaluation : options) {
    tasks_.push_back(load_task(evaluation));
    for (const std::string& warning : tasks_.back()->warnings()) events.warning(warning);
  }
}

std::vector<Report> Evaluations::run(Scorer& scorer) const {
  std::vector<Report> reports;
  for (const auto& task : tasks_) reports.push_back(task->evaluate(scorer));
  return reports;
}

std::vector<Report> Evaluations::evaluate(const std::string& model_name,
                                          const EncoderWeights& weights, const Tokenizer& tokenizer,
                                          const ModelSettings& settings, EventSink& events) const {
  const SentenceEncoder encoder(weights, settings, tokenizer);
  EmbeddingScorer scorer(
      model_name,
      [&](const std::vector<std::string>& texts) { return encoder.encode(texts, {}, events); },
      parse_similarity(settings.similarity));
  return run(scorer);
}

std::vector<Report> Evaluations::evaluate_baseline(const std::string& name) const {
  return run(*make_lexical_scorer(name));
}

}  // namespace simile
