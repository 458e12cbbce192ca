// SPDX-License-Identifier: Apache-2.0
#include "simile/train/evaluations.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/predictions.h"
#include "simile/eval/shared_texts.h"
#include "simile/train/selection.h"
#include "simile/train/start_model.h"

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

// Predictions that cannot be written (ids with spaces in a TREC run) must not cost a trained model.
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

}  // namespace

std::unique_ptr<Scorer> make_model_scorer(const std::string& name, ModelWeights& weights,
                                          const StartModel& start, ProductType products,
                                          EventSink& events) {
  const auto encoder = std::make_shared<const SentenceEncoder>(
      weights.encoder().inference(products), start.settings, start.tokenizer);
  std::vector<Head> heads;
  for (HeadModule& head : weights.heads()) {
    heads.emplace_back(head.settings(), start.settings.embedding_size(), head.to_host());
  }
  return make_encoder_scorer(name, encoder, std::move(heads), {}, events);
}

bool is_of(const std::vector<std::string>& metrics, const std::string& evaluation) {
  return std::any_of(metrics.begin(), metrics.end(), [&](const std::string& metric) {
    return split_figure_name(metric).evaluation == evaluation;
  });
}

std::vector<const Task*> tasks_of(const EvaluationSets& sets) {
  std::vector<const Task*> tasks;
  for (const Evaluations* set : sets) {
    for (const Evaluation& each : set->list()) tasks.push_back(each.task.get());
  }
  return tasks;
}

Scores evaluate_all(const EvaluationSets& sets, Scorer& scorer, bool has_heads, EventSink& events,
                    const std::string& predictions, const std::vector<std::string>& metrics) {
  std::vector<const Evaluation*> all;
  for (const Evaluations* set : sets) {
    for (const Evaluation& each : set->list()) {
      if (metrics.empty() || is_of(metrics, each.options.name)) all.push_back(&each);
    }
  }
  scorer.embed_once(std::make_shared<const SharedTexts>(tasks_of(sets)));
  Scores scores;
  for (const Evaluation* each : all) {
    Predictions& kept = scores.predictions.emplace_back();
    // Words have neither heads nor vectors.
    const bool needs_model = !each->options.head.empty() ||
                             each->options.task == "classification" ||
                             each->options.task == "geometry";
    if (needs_model && !has_heads) {
      scores.reports.emplace_back().name = each->options.name;
      continue;
    }
    const std::string file =
        predictions.empty() ? ""
                            : predictions_file(predictions, each->options.task, each->options.name);
    scores.reports.push_back(evaluate_with_file(*each->task, scorer, file, kept, events));
  }
  return scores;
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

}  // namespace simile
