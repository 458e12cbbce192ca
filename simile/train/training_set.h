// SPDX-License-Identifier: Apache-2.0
// Training pairs as token ids: every distinct text tokenised once, before the first step.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/event.h"
#include "simile/data/pair_data.h"
#include "simile/text/tokenizer.h"

namespace simile {

struct TrainingSet {
  std::vector<std::vector<int32_t>> texts;      // token ids, each distinct text once
  std::vector<int32_t> left, right;             // [pairs] number of the text in `texts`
  std::vector<std::vector<int32_t>> negatives;  // [columns][pairs]
  std::vector<float> target;                    // [pairs]

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

// Tokenises in parallel, with the tokenizer's length limit. Broken bytes and truncated texts are told
// to `events`. Errors: ErrorKind::kInput when there is no pair.
TrainingSet make_training_set(const PairDataset& pairs, const Tokenizer& tokenizer, EventSink& events);

}  // namespace simile
