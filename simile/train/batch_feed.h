// SPDX-License-Identifier: Apache-2.0
// The batches of a stage one after the other: which objective is next, and which of its pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simile/train/stage.h"
#include "simile/train/train_state.h"

namespace simile {

// Walks the epochs of a stage and of each of its objectives. Where it stands is kept in `state`
// (epoch, next_batch, objectives) alone, so that a feed made from a saved state goes on with the
// same batches.
class BatchFeed {
 public:
  // Both outlive this. A state at the start of a stage gets an entry per objective.
  BatchFeed(Stage& stage, TrainState& state);

  // The batches of the next step: `count`, or fewer where the stage's epoch ends before. The state
  // then stands behind them; if this throws, as next_batch() may, before them.
  std::vector<StepPart> next(int64_t count);

 private:
  // The batch to be trained next, the same until done() is called. At the end of an epoch a new one
  // begins, which may embed texts (Stage::order_epoch) and throw what that throws; the state then
  // still stands before this batch.
  StepPart next_batch();

  // The batch of next_batch() is given out.
  void done();

  void cut_order(size_t objective);

  Stage& stage_;
  TrainState& state_;
  std::vector<int32_t> turns_;  // objective of each batch of the stage's epoch
  std::vector<std::vector<std::vector<int32_t>>> batches_;  // [objectives][batches][pairs]
};

}  // namespace simile
