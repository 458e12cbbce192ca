// SPDX-License-Identifier: Apache-2.0
// The evaluations of a run: data read once, scored as often as asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/task.h"
#include "simile/report/verdict.h"
#include "simile/train/placement.h"

namespace simile {

struct Evaluation {
  EvaluationOptions options;
  std::unique_ptr<Task> task;
};

class Evaluations {
 public:
  // Reads the data; problems in it go to `events` as warnings.
  Evaluations(const std::vector<EvaluationOptions>& options, EventSink& events);

  // See Task::tell_seen().
  void tell_seen(const KeySet& texts);

  // Errors (kRecipe): one of `metrics`, each EVALUATION.METRIC, is none of these evaluations'.
  void check_metrics(const std::vector<std::string>& metrics) const;

  const std::vector<Evaluation>& list() const { return evaluations_; }

 private:
  std::vector<Evaluation> evaluations_;
};

struct StartModel;

// Scores by weights as they are, with the start's tokenizer and settings.
std::unique_ptr<Scorer> make_model_scorer(const std::string& name, ModelWeights& weights,
                                          const StartModel& start, ProductType products,
                                          EventSink& events);

// Whether one of the metrics, each EVALUATION.METRIC, is of this evaluation.
bool is_of(const std::vector<std::string>& metrics, const std::string& evaluation);

using EvaluationSets = std::vector<const Evaluations*>;
std::vector<const Task*> tasks_of(const EvaluationSets& sets);

// One report per evaluation, set by set, and the predictions behind each. A text of several
// evaluations is embedded once. Where a head scores and the scorer has none, the report has its
// name alone. With a folder also writes the predictions there, see predictions_file(); with
// metrics, each EVALUATION.METRIC, evaluates only their evaluations.
Scores evaluate_all(const EvaluationSets& sets, Scorer& scorer, bool has_heads, EventSink& events,
                    const std::string& predictions = "",
                    const std::vector<std::string>& metrics = {});

}  // namespace simile
