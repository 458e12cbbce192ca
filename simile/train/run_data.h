// SPDX-License-Identifier: Apache-2.0
// The training data of every stage of a run, and the vectors that teachers give its texts.
#pragma once

#include <vector>

#include "simile/core/event.h"
#include "simile/report/run_folder.h"
#include "simile/train/objective.h"
#include "simile/train/start_model.h"
#include "simile/train/train_options.h"

namespace simile {

// [stages][objectives]; objectives with the same data share it. Checks all that can be known before
// the first step: that loss, head, order and teachers of every objective fit each other and the
// data. Options or columns that do not go together are told to `events`. Errors: as
// read_training_set() and check_loss_data(); ErrorKind::kRecipe for a head that neither the recipe
// nor the model has.
std::vector<std::vector<ObjectiveData>> read_run_data(const TrainOptions& options,
                                                      const StartModel& start, EventSink& events);

// Opens the vectors of a stage's teachers, which stand in `folder` or are computed now: those of an
// earlier stage from the weights it kept. Errors: as model_teacher() and RunFolder::read_stage().
void open_teachers(const TrainOptions& options, size_t stage, const StartModel& start,
                   const RunFolder& folder, std::vector<ObjectiveData>& data, EventSink& events);

}  // namespace simile
