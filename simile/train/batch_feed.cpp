// SPDX-License-Identifier: Apache-2.0
#include "simile/train/batch_feed.h"

namespace simile {

BatchFeed::BatchFeed(Stage& stage, TrainState& state)
    : stage_(stage), state_(state), batches_(stage.objectives().size()) {
  state_.objectives.resize(batches_.size());
  if (state_.epoch > 0) turns_ = stage_.mix_epoch(state_.epoch - 1);
  for (size_t i = 0; i < batches_.size(); ++i) cut_order(i);
}

void BatchFeed::cut_order(size_t objective) {
  batches_[objective] = cut_batches(state_.objectives[objective].order,
                                    stage_.objectives()[objective].options().batch_size);
}

NextBatch BatchFeed::next() {
  if (state_.next_batch == static_cast<int64_t>(turns_.size())) {
    turns_ = stage_.mix_epoch(state_.epoch);
    state_.next_batch = 0;
    ++state_.epoch;
  }
  const auto number = static_cast<size_t>(turns_[static_cast<size_t>(state_.next_batch)]);
  ObjectiveState& objective = state_.objectives[number];
  if (objective.next_batch == static_cast<int64_t>(batches_[number].size())) {
    objective.order = stage_.order_epoch(number, objective.epoch);
    objective.next_batch = 0;
    ++objective.epoch;
    cut_order(number);
  }
  return {number, batches_[number][static_cast<size_t>(objective.next_batch)]};
}

void BatchFeed::done() {
  const auto number = static_cast<size_t>(turns_[static_cast<size_t>(state_.next_batch)]);
  ++state_.next_batch;
  ++state_.objectives[number].next_batch;
}

}  // namespace simile
