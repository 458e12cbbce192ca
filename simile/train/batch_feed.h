// SPDX-License-Identifier: Apache-2.0
// The batches of a stage one after the other: which objective is next, and which of its pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "simile/train/stage.h"
#include "simile/train/train_state.h"

namespace simile {

// Walks the epochs of a stage and of each of its objectives. Its position is only in `state`
// (epoch, next_batch, objectives), so a feed of a saved state continues with the same batches.
class BatchFeed {
 public:
  // Called before an epoch of an objective begins, from 0: its data may be changed then, but not
  // its number of examples. Batches collected for the same step before are trained on the new data.
  using BeforeEpoch = std::function<void(size_t objective, int64_t epoch)>;

  // Both outlive this. A state at the start of a stage gets an entry per objective.
  BatchFeed(Stage& stage, TrainState& state, BeforeEpoch before_epoch = nullptr);

  // The batches of the next step: `count`, or fewer where the stage's epoch ends before. The state
  // is then after them; if this throws, as next_batch() may, it is before them.
  std::vector<StepPart> next(int64_t count);

 private:
  struct ReplacedPlan {
    size_t objective;
    ExampleOrder order;
    std::vector<int32_t> batch_sizes;
  };

  // At the end of an epoch it begins a new one, which may embed texts (Stage::plan_epoch) and throw
  // the errors of that; the state is then still before this batch.
  StepPart next_batch();

  Stage& stage_;
  TrainState& state_;
  BeforeEpoch before_epoch_;
  std::vector<ReplacedPlan> replaced_;  // by the last call of next(); back if it throws
  std::vector<int32_t> turns_;          // objective of each batch of the stage's epoch
  std::vector<Batches> batches_;        // [objectives] of the current epoch of each
};

}  // namespace simile
