// SPDX-License-Identifier: Apache-2.0
// The evaluations of a run: data read once, scored as often as asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/task.h"
#include "simile/index/score_fusion.h"
#include "simile/model/model_settings.h"
#include "simile/report/verdict.h"
#include "simile/text/tokenizer.h"
#include "simile/train/model_weights.h"

namespace simile {

struct EvaluatedModel {
  ModelWeights& weights;
  const Tokenizer& tokenizer;
  const ModelSettings& settings;
  ProductType products = ProductType::kFloat;
};

struct Evaluation {
  EvaluationOptions options;
  std::unique_ptr<Task> task;

  bool needs_head() const { return !options.head.empty() || options.task == "classification"; }
};

class Evaluations {
 public:
  // Reads the data; what should be known about it goes to `events` as warnings.
  Evaluations(const std::vector<EvaluationOptions>& options, EventSink& events);

  // The scores of one set, then of the next.
  using Sets = std::vector<const Evaluations*>;

  // One report per evaluation, in order, of weights as they are, and the predictions behind each. A
  // text of several evaluations is embedded once. With a folder also writes the predictions there,
  // see predictions_file().
  static Scores evaluate(const Sets& sets, const std::string& model_name,
                         const EvaluatedModel& model, EventSink& events,
                         const std::string& predictions = "");

  // The same of the model together with BM25, called hybrid_name() of it; where a head scores,
  // which a hybrid does not have, the report has its name alone.
  static std::vector<Report> evaluate_hybrid(const Sets& sets, const std::string& model_name,
                                             const EvaluatedModel& model,
                                             const FusionOptions& fusion, EventSink& events,
                                             const std::string& predictions = "");

  // One report per evaluation of a lexical baseline, "bm25" or "tfidf".
  static std::vector<Report> evaluate_baseline(const Sets& sets, const std::string& name);

  // See Task::tell_seen().
  void tell_seen(const KeySet& texts);

  // Errors (kRecipe): one of `metrics`, each EVALUATION.METRIC, is none of these evaluations'.
  void check_metrics(const std::vector<std::string>& metrics) const;

  const std::vector<Evaluation>& list() const { return evaluations_; }

 private:
  std::vector<Evaluation> evaluations_;
};

}  // namespace simile
