// SPDX-License-Identifier: Apache-2.0
// One objective of a stage, ready to be trained: its data, its loss and the order of its epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/batch/plan.h"
#include "simile/core/matrix.h"
#include "simile/kernel/packed.h"
#include "simile/loss/loss.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

class Objective {
 public:
  // Embeddings [texts, D] of the texts given by token ids, not normalised.
  using Embed = std::function<Matrix<float>(const std::vector<std::vector<int32_t>>& texts)>;

  // `set` is the data of the options and outlives this; `name` is how logs and messages call it;
  // `order_seed` tells its epochs from those of other objectives.
  Objective(const ObjectiveOptions& options, const std::string& name, const TrainingSet& set,
            uint64_t order_seed);

  const std::string& name() const { return name_; }
  const ObjectiveOptions& options() const { return options_; }
  int64_t batches_per_epoch() const;

  // The order of an epoch; `embed` is called when it depends on embeddings.
  ExampleOrder order_epoch(int64_t epoch, const Embed& embed) const;

  // Token ids of a batch of m pairs: m left texts, m right texts, then m of each negative column.
  PackedBatch pack(const std::vector<int32_t>& batch) const;

  // The loss of that batch without the objective's weight; `embeddings` [texts, D] are those of
  // pack().
  torch::Tensor compute(const torch::Tensor& embeddings, const std::vector<int32_t>& batch) const;

  Loss& loss() { return loss_; }
  const std::vector<LossParameter>& parameters() const { return parameters_; }

 private:
  Matrix<float> embed_side(const std::vector<int32_t>& side, const Embed& embed) const;

  ObjectiveOptions options_;
  std::string name_;
  const TrainingSet& set_;
  Loss loss_;
  std::vector<LossParameter> parameters_;
  uint64_t order_seed_;
};

}  // namespace simile
