// SPDX-License-Identifier: Apache-2.0
#include "simile/train/evaluations.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/predictions.h"
#include "simile/eval/shared_texts.h"
#include "simile/train/selection.h"

namespace simile {

Evaluations::Evaluations(const std::vector<EvaluationOptions>& options, EventSink& events) {
  for (const EvaluationOptions& evaluation : options) {
    evaluations_.push_back({evaluation, load_task(evaluation)});
    const Task& task = *evaluations_.back().task;
    for (const std::string& warning : task.warnings()) events.warning(warning);
    for (const std::string& note : task.notes()) events.info(note);
  }
}

namespace {

// What cannot be written of predictions (ids with spaces in a TREC run) must not cost a trained
// model.
Report evaluate_with_file(const Task& task, Scorer& scorer, const std::string& file,
                          Predictions& kept, EventSink& events) {
  try {
    return task.evaluate(scorer, file, &kept);
  } catch (const Error& error) {
    if (file.empty() || error.kind() != ErrorKind::kInput) throw;
    events.warning(fmt::format("the predictions are not written: {}", error.what()));
    return task.evaluate(scorer, "", &kept);
  }
}

std::unique_ptr<Scorer> make_model_scorer(const std::string& name, const EvaluatedModel& model,
                                          EventSink& events) {
  const ModelSettings& settings = model.settings;
  const auto encoder = std::make_shared<const SentenceEncoder>(
      model.weights.encoder().inference(model.products), settings, model.tokenizer);
  std::vector<Head> heads;
  for (HeadModule& head : model.weights.heads()) {
    heads.emplace_back(head.settings(), settings.embedding_size(), head.to_host());
  }
  return make_encoder_scorer(name, encoder, std::move(heads), {}, events);
}

std::vector<const Evaluation*> list_all(const Evaluations::Sets& sets) {
  std::vector<const Evaluation*> all;
  for (const Evaluations* set : sets) {
    for (const Evaluation& each : set->list()) all.push_back(&each);
  }
  return all;
}

Scores evaluate_all(const Evaluations::Sets& sets, Scorer& scorer, bool has_heads,
                    EventSink& events, const std::string& predictions) {
  const std::vector<const Evaluation*> all = list_all(sets);
  std::vector<const Task*> tasks;
  for (const Evaluation* each : all) tasks.push_back(each->task.get());
  scorer.embed_once(std::make_shared<const SharedTexts>(tasks));
  Scores scores;
  for (const Evaluation* each : all) {
    if (each->needs_head() && !has_heads) {
      Report none;
      none.name = each->options.name;
      scores.reports.push_back(none);
      scores.predictions.emplace_back();
      continue;
    }
    const std::string file =
        predictions.empty() ? ""
                            : predictions_file(predictions, each->options.task, each->options.name);
    Predictions& kept = scores.predictions.emplace_back();
    scores.reports.push_back(evaluate_with_file(*each->task, scorer, file, kept, events));
  }
  return scores;
}

}  // namespace

Scores Evaluations::evaluate(const Sets& sets, const std::string& model_name,
                             const EvaluatedModel& model, EventSink& events,
                             const std::string& predictions) {
  const auto scorer = make_model_scorer(model_name, model, events);
  return evaluate_all(sets, *scorer, true, events, predictions);
}

std::vector<Report> Evaluations::evaluate_hybrid(const Sets& sets, const std::string& model_name,
                                                 const EvaluatedModel& model,
                                                 const FusionOptions& fusion, EventSink& events,
                                                 const std::string& predictions) {
  HybridScorer scorer(hybrid_name(model_name), std::make_shared<Bm25Scorer>(),
                      make_model_scorer(model_name, model, events), fusion);
  return evaluate_all(sets, scorer, false, events, predictions).reports;
}

void Evaluations::tell_seen(const KeySet& texts) {
  for (Evaluation& each : evaluations_) each.task->tell_seen(texts);
}

void Evaluations::check_metrics(const std::vector<std::string>& metrics) const {
  std::vector<Report> reports;
  for (const Evaluation& each : evaluations_) {
    Report& report = reports.emplace_back();
    report.task = each.options.task;
    report.name = each.options.name;
    for (const std::string& metric : each.task->metric_names()) {
      report.metrics.emplace_back(metric, 0);
    }
  }
  selection_value(reports, metrics);
}

std::vector<Report> Evaluations::evaluate_baseline(const Sets& sets, const std::string& name) {
  return evaluate_all(sets, *make_lexical_scorer(name), false, silent_events(), "").reports;
}

}  // namespace simile
