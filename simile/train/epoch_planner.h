// SPDX-License-Identifier: Apache-2.0
// The batches of each epoch of one objective: its options of order, applied to its examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/labelled_negatives.h"
#include "simile/batch/order_table.h"
#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// What tells the orders of an objective of a stage from those of all others.
uint64_t order_seed(uint64_t run_seed, const StageOptions& stage, size_t objective);

// The vectors [texts, D] that orders compare: not normalised, without dropout. Dropout is a pure
// function of the step, so that embedding between two steps leaves its random state as it was.
Matrix<float> embed_for_order(const SentenceEncoder& encoder,
                              const std::vector<std::vector<int32_t>>& texts, EventSink& events);

// Whether the data suits the order. Returns warnings. Errors (kRecipe): an order that looks at
// single texts with a joint head; a right side that is not there; labelled negatives without
// targets.
std::vector<std::string> check_order_data(const ObjectiveOptions& objective,
                                          const TrainingSet& set);

class EpochPlanner {
 public:
  using Embed = OrderData::Embed;

  // `set` outlives this; between two epochs other negatives may be mined for it, and texts added.
  // An order with OrderRow::find_words() needs its originals, and keeps what that makes of them (8
  // bytes a word). The seed is that of order_seed().
  EpochPlanner(const ObjectiveOptions& objective, const ExampleSet& set, uint64_t seed);

  // The same for every epoch, whatever the seed.
  int64_t batches_per_epoch() const { return batches_; }

  // The plan of an epoch, numbered from 0: every example once, but for labelled negatives that find
  // no room (labelled_negatives.h). `embed` is called by orders that compare vectors. Told to
  // `events`: an order that took more than a second, and how many labelled negatives were left out.
  Batches plan(int64_t epoch, const Embed& embed, EventSink& events) const;

 private:
  OrderData data(int64_t epoch) const;
  int64_t most_negatives() const { return objective_.order.labelled_negatives; }
  int64_t count_batches() const;
  Batches fill(ExampleOrder order, const OrderData& data) const;

  ObjectiveOptions objective_;
  const OrderRow& row_;
  const ExampleSet& set_;
  uint64_t seed_;
  LabelledNegatives negatives_;  // where the option is set
  TextWords words_;              // where the order has them
  int64_t batches_;
};

}  // namespace simile
