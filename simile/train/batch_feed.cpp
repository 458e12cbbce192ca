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
