// SPDX-License-Identifier: Apache-2.0
#include "simile/train/batch_feed.h"

#include <optional>
#include <utility>

#include "simile/core/error.h"

namespace simile {
namespace {

// Where the feed stands, and nothing of what is trained.
TrainState position_of(const TrainState& state) {
  TrainState position;
  position.epoch = state.epoch;
  position.next_batch = state.next_batch;
  position.objectives = state.objectives;
  return position;
}

void take_position(TrainState& position, TrainState& state) {
  state.epoch = position.epoch;
  state.next_batch = position.next_batch;
  state.objectives = std::move(position.objectives);
}

}  // namespace

BatchFeed::BatchFeed(Stage& stage, TrainState& state, BeforeEpoch before_epoch)
    : stage_(stage),
      state_(state),
      before_epoch_(std::move(before_epoch)),
      batches_(stage.objectives().size()) {
  state_.objectives.resize(batches_.size());
  if (state_.epoch > 0) turns_ = stage_.mix_epoch(state_.epoch - 1);
  for (size_t i = 0; i < batches_.size(); ++i) {
    batches_[i] = cut_batches(state_.objectives[i].order, state_.objectives[i].batch_sizes);
  }
}

std::vector<StepPart> BatchFeed::next(int64_t count) {
  std::optional<TrainState> before;  // one batch alone leaves the state as it is when it throws
  if (count > 1) before = position_of(state_);
  std::vector<StepPart> parts;
  try {
    do {
      parts.push_back(next_batch());
      done();
    } while (static_cast<int64_t>(parts.size()) < count &&
             state_.next_batch < static_cast<int64_t>(turns_.size()));
  } catch (const Error&) {
    if (before) take_position(*before, state_);
    throw;
  }
  return parts;
}

StepPart BatchFeed::next_batch() {
  if (state_.next_batch == static_cast<int64_t>(turns_.size())) {
    turns_ = stage_.mix_epoch(state_.epoch);
    state_.next_batch = 0;
    ++state_.epoch;
  }
  const auto number = static_cast<size_t>(turns_[static_cast<size_t>(state_.next_batch)]);
  ObjectiveState& objective = state_.objectives[number];
  if (objective.next_batch == static_cast<int64_t>(batches_[number].size())) {
    if (before_epoch_) before_epoch_(number, objective.epoch);
    batches_[number] = stage_.plan_epoch(number, objective.epoch);
    objective.order = join_batches(batches_[number]);
    objective.batch_sizes = batch_sizes(batches_[number]);
    objective.next_batch = 0;
    ++objective.epoch;
  }
  return {number, batches_[number][static_cast<size_t>(objective.next_batch)]};
}

void BatchFeed::done() {
  const auto number = static_cast<size_t>(turns_[static_cast<size_t>(state_.next_batch)]);
  ++state_.next_batch;
  ++state_.objectives[number].next_batch;
}

}  // namespace simile
