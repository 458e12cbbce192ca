// SPDX-License-Identifier: Apache-2.0
// Training: a recipe in, a model folder out. One run; simile/experiment/repeated_training.h trains
// a recipe with several seeds, or with each fold of its data.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/eval/report.h"
#include "simile/report/verdict.h"

namespace simile {

class ProcessGroup;
struct TrainOptions;

struct TrainResult {
  std::string model_path;          // empty of folds, each of which has its own
  std::vector<Report> reports;     // per evaluation and test: the model, then each baseline; of
                                   // several seeds or folds their models, mean and deviation, then
                                   // baselines
  std::optional<Verdict> verdict;  // none of pre-training
  std::optional<double> selected_value;  // of selection.metric, if the last stage has one
};

struct SelectedValue {
  std::string stage;
  int64_t step = 0;  // of the stage; 0: before its first
  double done = 0;   // part of the stage, 0 to 1
  // Not finite where the metric is not, which is null in JSON.
  double value = std::numeric_limits<double>::quiet_NaN();

  void visit(OptionVisitor& v) {
    v.required("stage", stage);
    v.required("step", step);
    v.required("done", done);
    v.field("value", value, {});
  }
};

// A sink that also gets every value by which train() selects weights, in order. To end training,
// throw at the next progress(): from selected() nothing may be thrown.
class SelectionSink : public EventSink {
 public:
  virtual void selected(const SelectedValue& value) = 0;
};

// How a run is trained.
struct TrainingMode {
  bool resume = false;
  bool overwrite = false;
  ProcessGroup* processes = nullptr;  // null: this process alone
  bool more_follow = false;           // another run is trained next in the same processes
  std::function<void()> begin;        // called when all was read and checked, before the first step
};

// Trains by the recipe in `folder`, which then holds run.json, metrics.jsonl, TensorBoard events,
// results.json, predictions/, model/ and states/; run.json is a recipe that repeats the run.
// `options` are those that read_recipe() gives, with `runs: 1` and no `folds`.
//
// On the CPU the same recipe and seed give the same bits on any number of threads. When `events`
// throws ErrorKind::kInterrupted from progress(), the state is saved and the error passed on;
// `resume` then continues as if nothing had happened.
// Errors: ErrorKind::kRecipe and kInput before the first step, kFailed when loss or gradient is not
// finite, kIo, and kUsage for a folder that holds another run. The last saved state stays.
//
// With `processes`, each of which calls this with the same recipe, they train as one: each encodes
// its share of every batch, and the weights equal those of one process except for the order of
// sums. Rank 0 writes the folder and returns the result; the others return an empty one. A state
// may be resumed by another number of processes. Errors: also kRecipe for recipes that several
// processes cannot train, kInput if their recipe, program, data or start differ, and those of
// ProcessGroup. An interruption of one ends all after the same step.
TrainResult train(const TrainOptions& options, const std::string& folder, const TrainingMode& mode,
                  EventSink& events);

// Pre-trains an encoder as a masked language model by the recipe (pretrainer.h) in `folder`,
// runs/NAME when that is empty. The folder then has the same files as after train(). model/ is
// rewritten at each evaluation on the held-out texts, with the pooling of the start model or of the
// recipe's architecture and the dropout of its configuration, not that of the recipe. The
// masked-language-model head is kept in the saved states only.
//
// The loss of a step is the mean over its masked tokens, in nats; held-out texts are always masked
// alike. Reported: masked_accuracy and perplexity = exp(mean loss).
//
// Same bits on any number of threads, and after resume. Interruption and errors as train();
// ErrorKind::kInput also for a corpus that cannot be read to its end, before the first step, and
// for a resume when its texts or the tokenizer are not those of the run.
TrainResult pretrain(const ConfigNode& recipe, const std::string& folder, bool resume,
                     bool overwrite, EventSink& events);

}  // namespace simile
