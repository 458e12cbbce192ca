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

struct TrainResult {
  std::string model_path;
  std::vector<Report> reports;     // per evaluation and test: the model, then each baseline; of
                                   // several seeds their models, mean and deviation, then baselines
  std::optional<Verdict> verdict;  // none of pre-training
  std::optional<double> selected_value;  // of selection.metric in the last stage that has one
};

// Trains by the recipe (its options: train_options.h) in `folder`, runs/NAME when that is empty.
// The folder then holds run.json, metrics.jsonl, TensorBoard events, results.json, predictions/,
// model/ and states/; run.json is a recipe that repeats the run. With `runs` above 1 it holds such
// a folder for each seed, see seeds.h.
//
// On the CPU the same recipe and seed give the same bits on any number of threads. When `events`
// throws ErrorKind::kInterrupted from progress(), the state is saved and the error passed on;
// `resume` then continues as if nothing had happened.
// Errors: ErrorKind::kRecipe and kInput before the first step, kFailed when loss or gradient is not
// finite, kIo, and kUsage for a folder that holds another run. The last saved state stays.
TrainResult train(const ConfigNode& recipe, const std::string& folder, bool resume, bool overwrite,
                  EventSink& events);

// Every option of a recipe as Markdown.
std::string recipe_reference();

}  // namespace simile
