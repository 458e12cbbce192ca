// SPDX-License-Identifier: Apache-2.0
// One objective of a stage, ready to be trained: its data, its head, its loss, the batches of its
// epochs, and the inputs of its loss for a batch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/order_table.h"
#include "simile/batch/plan.h"
#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/loss/loss.h"
#include "simile/nn/head.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// A seed that makes the orders of an objective of a stage differ from all others.
uint64_t order_seed(uint64_t run_seed, const StageOptions& stage, size_t objective);

// The vectors [texts, D] that orders compare: not normalised, without dropout. Dropout is a pure
// function of the step, so that embedding between two steps leaves its random state as it was.
Matrix<float> embed_for_order(const SentenceEncoder& encoder,
                              const std::vector<std::vector<int32_t>>& texts, EventSink& events);

// Whether the data suits the order. Returns warnings. Errors (kRecipe): an order that looks at
// single texts with a joint head; no right side; labelled negatives without targets.
std::vector<std::string> check_order_data(const ObjectiveOptions& objective,
                                          const TrainingSet& set);

// The batches of each epoch of one objective: its options of order, applied to its examples.
class EpochPlanner {
 public:
  using Embed = OrderData::Embed;

  // `set` outlives this; between two epochs other negatives may be mined for it, and texts added.
  // An order with OrderRow::find_words() needs its originals, and keeps their words (8 bytes each).
  // The seed is that of order_seed().
  EpochPlanner(const ObjectiveOptions& objective, const ExampleSet& set, uint64_t seed);

  // The same for every epoch, whatever the seed.
  int64_t batches_per_epoch() const { return batches_; }

  // The plan of an epoch, numbered from 0: every example once, except labelled negatives that find
  // no room (simile/batch/plan.h). `embed` is called by orders that compare vectors. Told to
  // `events`: an order that took more than a second, and how many labelled negatives were left out.
  Batches plan(int64_t epoch, const Embed& embed, EventSink& events) const;

 private:
  OrderData data(int64_t epoch) const;
  int64_t most_negatives() const { return objective_.order.labelled_negatives; }

  ObjectiveOptions objective_;
  const OrderRow& row_;
  const ExampleSet& set_;
  uint64_t seed_;
  LabelledNegatives negatives_;  // where the option is set
  TextWords words_;              // where the order has them
  int64_t batches_ = 0;
};

// How the examples of an objective are shown to its loss.
struct BatchReader {
  const Loss& loss;
  HeadModule* head = nullptr;  // null: none

  // `embeddings` [texts, H] are those of set->texts_of(examples). Errors: as HeadModule.
  LossInput operator()(const ExampleSet& set, const std::vector<int32_t>& examples,
                       const torch::Tensor& embeddings, const HeadDropout& dropout) const;
};

// The examples that an objective trains on and measures its loss on.
struct ObjectiveData {
  ExampleSet train;
  ExampleSet dev;  // of no examples where the recipe names none
};

class Objective {
 public:
  // `name` is how logs and messages call it; `order_seed` is that of order_seed(). `data` and
  // `head` (null: none) outlive this.
  Objective(const ObjectiveOptions& options, const std::string& name, const ObjectiveData& data,
            HeadModule* head, const LossSizes& sizes, uint64_t order_seed);

  const std::string& name() const { return name_; }
  const ObjectiveOptions& options() const { return options_; }
  const ObjectiveData& data() const { return data_; }
  HeadModule* head() const { return head_; }
  int64_t batches_per_epoch() const { return planner_.batches_per_epoch(); }

  // Tokens encoded at a time: the recipe's chunk_tokens, or less for a device's memory; 0: all.
  int64_t chunk_tokens() const { return chunk_tokens_; }
  // Limits chunks from now on to at most half the tokens of a piece of such a batch, a power of
  // two; false: pieces are already as small as is worth trying.
  bool halve_chunks(int64_t batch_tokens);

  // The batches of an epoch; see EpochPlanner::plan().
  Batches plan_epoch(int64_t epoch, const EpochPlanner::Embed& embed, EventSink& events) const {
    return planner_.plan(epoch, embed, events);
  }

  // The inputs of the loss for a batch of `set`, one of data(); see BatchReader.
  LossInput read(const ExampleSet& set, const std::vector<int32_t>& examples,
                 const torch::Tensor& embeddings, const HeadDropout& dropout) const {
    return BatchReader{loss_, head_}(set, examples, embeddings, dropout);
  }

  Loss& loss() { return loss_; }
  const Loss& loss() const { return loss_; }
  const std::vector<LossParameter>& parameters() const { return parameters_; }

 private:
  ObjectiveOptions options_;
  std::string name_;
  const ObjectiveData& data_;
  HeadModule* head_;
  Loss loss_;
  std::vector<LossParameter> parameters_;
  EpochPlanner planner_;
  int64_t chunk_tokens_;
};

}  // namespace simile
