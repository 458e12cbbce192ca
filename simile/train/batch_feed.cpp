// SPDX-License-Identifier: Apache-2.0
#include "simile/train/batch_feed.h"

#include <tuple>
#include <utility>

#include "simile/core/error.h"

namespace simile {
namespace {

// Epochs and batches of the stage, then of each objective.
using Counters = std::vector<std::pair<int64_t, int64_t>>;

Counters counters_of(const TrainState& state) {
  Counters counters = {{state.epoch, state.next_batch}};
  for (const ObjectiveState& objective : state.objectives) {
    counters.emplace_back(objective.epoch, objective.next_batch);
  }
  return counters;
}

void set_counters(const Counters& counters, TrainState& state) {
  std::tie(state.epoch, state.next_batch) = counters[0];
  for (size_t i = 0; i < state.objectives.size(); ++i) {
    std::tie(state.objectives[i].epoch, state.objectives[i].next_batch) = counters[i + 1];
  }
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
  const Counters before = counters_of(state_);
  replaced_.clear();
  std::vector<StepPart> parts;
  try {
    do {
      parts.push_back(next_batch());
    } while (static_cast<int64_t>(parts.size()) < count &&
             state_.next_batch < static_cast<int64_t>(turns_.size()));
  } catch (const Error&) {
    for (auto plan = replaced_.rbegin(); plan != replaced_.rend(); ++plan) {
      ObjectiveState& objective = state_.objectives[plan->objective];
      objective.order = std::move(plan->order);
      objective.batch_sizes = std::move(plan->batch_sizes);
    }
    set_counters(before, state_);
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
    replaced_.push_back({number, std::move(objective.order), std::move(objective.batch_sizes)});
    objective.order = join_batches(batches_[number]);
    objective.batch_sizes = batch_sizes(batches_[number]);
    objective.next_batch = 0;
    ++objective.epoch;
  }
  ++state_.next_batch;
  return {number, batches_[number][static_cast<size_t>(objective.next_batch++)]};
}

}  // namespace simile
