// SPDX-License-Identifier: Apache-2.0
// Training: a recipe in, a model folder out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/event.h"
#include "simile/eval/report.h"
#include "simile/report/verdict.h"

namespace simile {

class ProcessGroup;

struct TrainResult {
  std::string model_path;          // empty of folds, each of which has its own
  std::vector<Report> reports;     // per evaluation and test: the model, then each baseline; of
                                   // several seeds or folds their models, mean and deviation, then
                                   // baselines
  std::optional<Verdict> verdict;  // none of pre-training
  std::optional<double> selected_value;  // of selection.metric in the last stage that has one
};

// Trains by the recipe (its options: train_options.h) in `folder`, runs/NAME when that is empty.
// The folder then holds run.json, metrics.jsonl, TensorBoard events, results.json, predictions/,
// model/ and states/; run.json is a recipe that repeats the run. With `runs` above 1 it holds such
// a folder for each seed, with `folds` one for each fold, see seeds.h.
//
// On the CPU the same recipe and seed give the same bits on any number of threads. When `events`
// throws ErrorKind::kInterrupted from progress(), the state is saved and the error passed on;
// `resume` then continues as if nothing had happened.
// Errors: ErrorKind::kRecipe and kInput before the first step, kFailed when loss or gradient is not
// finite, kIo, and kUsage for a folder that holds another run. The last saved state stays.
//
// With `processes`, each of which calls this with the same recipe, they train as one: each encodes
// its share of every batch, and the weights are those of one process but for the order of sums.
// Rank 0 writes the folder and gives the result, that of the others is empty; a state may be
// resumed by another number of processes. Errors: also kRecipe for what several processes cannot
// train, kInput where they do not have the same recipe, program, data and start, those of
// ProcessGroup. An interruption of one ends all after the same step.
TrainResult train(const ConfigNode& recipe, const std::string& folder, bool resume, bool overwrite,
                  EventSink& events, ProcessGroup* processes = nullptr);

// Every option of a recipe as Markdown.
std::string recipe_reference();

}  // namespace simile
