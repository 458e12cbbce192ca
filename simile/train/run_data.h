// SPDX-License-Identifier: Apache-2.0
// The training data of every stage of a run, and the vectors that teachers give its texts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/model/embedding_store.h"
#include "simile/model/model_settings.h"
#include "simile/report/run_folder.h"
#include "simile/text/tokenizer.h"
#include "simile/train/objective.h"
#include "simile/train/start_model.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

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

// Vectors that frozen models give the texts of a training set: computed once, kept on disk, read by
// row (RCL, section 3.2: the embeddings of entropy models; distillation).
struct Teacher {
  std::string fingerprint;  // of all that its vectors depend on beside the texts
  int64_t dimension = 0;
  // Vectors of texts begin .. end - 1 of a set, [end - begin, dimension].
  std::function<Matrix<float>(const TrainingSet& set, int64_t begin, int64_t end)> embed;
};

// The encoder that an earlier stage kept: it has the run's tokenizer, so it reads token ids. `flat`
// is copied; settings and tokenizer outlive the teacher.
Teacher stage_teacher(std::vector<float> flat, const ModelSettings& settings,
                      const Tokenizer& tokenizer, EventSink& events);

// A model folder or built-in model: it reads the set's originals. Errors: see open_model_folder().
Teacher model_teacher(const std::string& model, EventSink& events);

// The store of this teacher's vectors for `set` in `folder`, made where it is not there yet for the
// same teacher and texts. Memory: a block of some thousand texts. Errors: ErrorKind::kIo.
EmbeddingStore store_teacher_vectors(const std::string& folder, const TrainingSet& set,
                                     const Teacher& teacher, const std::string& precision,
                                     EventSink& events);

}  // namespace simile
