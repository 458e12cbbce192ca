// SPDX-License-Identifier: Apache-2.0
// The verdict of a run that is done: what its start gave and what it ended with.
#pragma once

#include <string>

#include "simile/core/event.h"
#include "simile/report/verdict.h"
#include "simile/train/train_options.h"

namespace simile {

// Gains of selection.metric of the last stage that has one: of `start`, the weights before the
// first step, and `trained`, those that were kept in the end. Losses are a stage's own, so they are
// read from the log at `log_path`: the stage's first value and the one it kept. Beside a loss, or
// where no stage selects, the first metric of the first report that both sides have is measured.
//
// Warns, with the likely causes, when every stage that led to the kept weights kept those it began
// with, so that they are the start; of single stages of which that is true; and when the trained
// weights are worse than the start by more than chance (the interval lies on that side).
Verdict judge_run(const TrainOptions& options, const std::string& log_path, const Scores& start,
                  const Scores& trained, EventSink& events);

}  // namespace simile
