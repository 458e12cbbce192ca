// SPDX-License-Identifier: Apache-2.0
// The training data of every stage of a run, and the vectors that teachers give its texts.
#pragma once

#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/report/run_folder.h"
#include "simile/train/objective.h"
#include "simile/train/start_model.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// [stages][objectives]; objectives with the same data share it. Checks all that can be known before
// the first step: that loss, head, order and teachers of every objective fit each other and the
// data. Options or columns that do not fit together are reported to `events`. Errors: as
// read_training_set() and check_loss_data(); ErrorKind::kRecipe for an unknown head.
std::vector<std::vector<ObjectiveData>> read_run_data(const TrainOptions& options,
                                                      const StartModel& start, EventSink& events);

// Opens the vectors that a stage's teachers, frozen models, give the texts of its training sets
// (RCL, section 3.2: the embeddings of entropy models; distillation): computed once, kept in
// `folder`, and read by row. An earlier stage as teacher uses the weights it kept. Memory: a block
// of texts. Errors: those of open_model_folder() and RunFolder::read_stage(); ErrorKind::kIo.
void open_teachers(const TrainOptions& options, size_t stage, const StartModel& start,
                   const RunFolder& folder, std::vector<ObjectiveData>& data, EventSink& events);

}  // namespace simile
