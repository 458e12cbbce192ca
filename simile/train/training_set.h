// SPDX-License-Identifier: Apache-2.0
// Training pairs as token ids: every distinct text tokenised once, before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/tokenizer.h"
#include "simile/train/train_options.h"

namespace simile {

struct TrainingSet {
  std::vector<std::vector<int32_t>> texts;      // token ids, each distinct text once
  std::vector<int32_t> left, right;             // [pairs] number of the text in `texts`
  std::vector<std::vector<int32_t>> negatives;  // [columns][pairs]
  std::vector<float> target;                    // [pairs]

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

// Reads the objective's data, checks its loss against it and tokenises in parallel, with the
// tokenizer's length limit and `prompt` before every text. Broken bytes, how pairs were made of
// raw data, and options or columns that do not go together, are told to `events`. Errors:
// ErrorKind::kInput for data that cannot be read or has an empty negative; ErrorKind::kRecipe when
// the loss needs what the data lacks.
TrainingSet read_training_set(const ObjectiveOptions& objective, const Tokenizer& tokenizer,
                              const std::string& prompt, EventSink& events);

}  // namespace simile
