// SPDX-License-Identifier: Apache-2.0
// Vectors that frozen models give the texts of a training set: computed once, kept on disk, read by
// row (RCL, section 3.2: the embeddings of entropy models; distillation).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/matrix.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/model/embedding_store.h"
#include "simile/model/model_settings.h"
#include "simile/text/tokenizer.h"
#include "simile/train/training_set.h"

namespace simile {

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
