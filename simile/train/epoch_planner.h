// SPDX-License-Identifier: Apache-2.0
// The batches of each epoch of one objective: its options of order, applied to its examples.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/batch/labelled_negatives.h"
#include "simile/batch/plan.h"
#include "simile/core/event.h"
#include "simile/core/matrix.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/neighbours/neighbours.h"
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
  // Embeddings [texts, D] of the texts given by token ids.
  using Embed = std::function<Matrix<float>(const std::vector<std::vector<int32_t>>& texts)>;

  // `set` outlives this; between two epochs other negatives may be mined for it, and texts added.
  // Order `words` needs its originals, of which it keeps the hashes of the shingles (8 bytes a
  // shingle), made once. The seed is that of order_seed().
  EpochPlanner(const ObjectiveOptions& objective, const ExampleSet& set, uint64_t seed);

  // The same for every epoch, whatever the seed.
  int64_t batches_per_epoch() const { return batches_; }

  // The plan of an epoch, numbered from 0: every example once, but for labelled negatives that find
  // no room (labelled_negatives.h). `embed` is called by orders that compare vectors. Told to
  // `events`: an order that took more than a second, and how many labelled negatives were left out.
  Batches plan(int64_t epoch, const Embed& embed, EventSink& events) const;

 private:
  void find_shingles();
  int64_t count_batches() const;
  ExampleOrder order_examples(uint64_t epoch, const Embed& embed, EventSink& events) const;
  ExampleOrder order_by_neighbours(uint64_t epoch, const Embed& embed, EventSink& events) const;
  ExampleOrder order_by_words(uint64_t epoch, const Embed& embed, EventSink& events) const;
  Matrix<int32_t> find_neighbours(int64_t count, const Embed& embed, EventSink& events) const;
  void tell_recall(const NeighbourReport& report, EventSink& events) const;
  Matrix<float> embed_side(const Embed& embed) const;
  std::vector<int64_t> lengths() const;
  TextColumns text_columns(bool with_negatives) const;
  std::vector<int32_t> side() const;
  std::vector<int32_t> pick_ordered(const std::vector<int32_t>& column) const;
  int64_t ordered() const;  // examples that the order places

  OrderOptions options_;
  int64_t batch_size_;
  const ExampleSet& set_;
  uint64_t seed_;
  LabelledNegatives negatives_;                  // where the option is set
  std::vector<std::vector<uint64_t>> shingles_;  // [texts], where the order is `words`
  int64_t batches_;
};

}  // namespace simile
