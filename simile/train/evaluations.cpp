// SPDX-License-Identifier: Apache-2.0
#include "simile/train/evaluations.h"

#include "simile/core/error.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/head_runner.h"
#include "simile/eval/lexical_baseline.h"

namespace simile {

static std::string predictions_file(const std::string& folder, const EvaluationOptions& options) {
  return folder + "/" + options.name + (options.task == "ranking" ? ".trec" : ".tsv");
}

Evaluations::Evaluations(const std::vector<EvaluationOptions>& options, EventSink& events) {
  for (const EvaluationOptions& evaluation : options) {
    const bool needs_head = !evaluation.head.empty() || evaluation.task == "classification";
    evaluations_.push_back({evaluation, needs_head, load_task(evaluation)});
    for (const std::string& warning : evaluations_.back().task->warnings()) events.warning(warning);
  }
}

std::vector<Report> Evaluations::evaluate(const std::string& model_name,
                                          const EvaluatedModel& model, EventSink& events,
                                          const std::string& predictions) const {
  const ModelSettings& settings = model.settings;
  const auto encoder = std::make_shared<const SentenceEncoder>(
      model.weights.encoder().weight_pointers(), settings, model.tokenizer);
  std::vector<Head> heads;
  for (HeadModule& head : model.weights.heads()) {
    heads.emplace_back(head.settings(), settings.encoder.hidden, head.weights());
  }
  EmbeddingScorer scorer(
      model_name,
      [&](const std::vector<std::string>& texts) { return encoder->encode(texts, {}, events); },
      parse_similarity(settings.similarity), nullptr,
      head_runner(encoder, heads, EncodeOptions(), events));
  std::vector<Report> reports;
  for (const Evaluation& each : evaluations_) {
    const std::string file = predictions.empty() ? "" : predictions_file(predictions, each.options);
    reports.push_back(each.task->evaluate(scorer, file));
  }
  return reports;
}

std::vector<Report> Evaluations::evaluate_baseline(const std::string& name) const {
  const std::unique_ptr<Scorer> scorer = make_lexical_scorer(name);
  std::vector<Report> reports;
  for (const Evaluation& each : evaluations_) {
    Report none;
    none.name = each.options.name;
    reports.push_back(each.needs_head ? none : each.task->evaluate(*scorer));
  }
  return reports;
}

}  // namespace simile
