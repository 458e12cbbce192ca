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

// Walks the epochs of a stage and of each of its objectives. Where it stands is kept in `state`
// (epoch, next_batch, objectives) alone, so that a feed made from a saved state goes on with the
// same batches.
class BatchFeed {
 public:
  // Called before an epoch of an objective begins, from 0: its data may be changed then, but for
  // the number of examples. Batches collected for the same step before are trained on the new data.
  using BeforeEpoch = std::function<void(size_t objective, int64_t epoch)>;

  // Both outlive this. A state at the start of a stage gets an entry per objective.
  BatchFeed(Stage& stage, TrainState& state, BeforeEpoch before_epoch = nullptr);

  // The batches of the next step: `count`, or fewer where the stage's epoch ends before. The state
  // then stands behind them; if this throws, as next_batch() may, before them.
  std::vector<StepPart> next(int64_t count);

 private:
  struct ReplacedPlan {
    size_t objective;
    ExampleOrder order;
    std::vector<int32_t> batch_sizes;
  };

  // At the end of an epoch a new one begins, which may embed texts (Stage::plan_epoch) and throw
  // what that throws; the state then still stands before this batch.
  StepPart next_batch();

  Stage& stage_;
  TrainState& state_;
  BeforeEpoch before_epoch_;
  std::vector<ReplacedPlan> replaced_;  // by the last call of next(); back if it throws
  std::vector<int32_t> turns_;          // objective of each batch of the stage's epoch
  std::vector<Batches> batches_;        // [objectives] of the current epoch of each
};

}  // namespace simile
