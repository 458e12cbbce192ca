// SPDX-License-Identifier: Apache-2.0
// From the embeddings of a batch to what a loss takes.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/loss/loss.h"
#include "simile/nn/head.h"
#include "simile/train/training_set.h"

namespace simile {

// How the examples of an objective are shown to its loss.
struct BatchReader {
  const Loss& loss;
  HeadModule* head = nullptr;  // null: none

  // `embeddings` [texts, H] are those of set->texts_of(examples). Errors: as HeadModule.
  LossInput operator()(const ExampleSet& set, const std::vector<int32_t>& examples,
                       const torch::Tensor& embeddings, const HeadDropout& dropout) const;
};

}  // namespace simile
