// SPDX-License-Identifier: Apache-2.0
// One objective of a stage, ready to be trained: its data, its head, its loss, the batches of its
// epochs, and what its loss takes of a batch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/plan.h"
#include "simile/loss/loss.h"
#include "simile/nn/head.h"
#include "simile/train/epoch_planner.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// How the examples of an objective are shown to its loss.
struct BatchReader {
  const Loss& loss;
  HeadModule* head = nullptr;  // null: none

  // `embeddings` [texts, H] are those of set->texts_of(examples). Errors: as HeadModule.
  LossInput operator()(const ExampleSet& set, const std::vector<int32_t>& examples,
                       const torch::Tensor& embeddings, const HeadDropout& dropout) const;
};

// What an objective trains and measures its loss on.
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

  // Tokens of a batch that are encoded at a time: the recipe's chunk_tokens, or less once a
  // device's memory did not suffice; 0: all.
  int64_t chunk_tokens() const { return chunk_tokens_; }
  // From now on at most half as many as a piece of a batch of so many tokens has, a power of two;
  // false: pieces are as small as is worth trying.
  bool halve_chunks(int64_t batch_tokens);

  // The batches of an epoch; see EpochPlanner::plan().
  Batches plan_epoch(int64_t epoch, const EpochPlanner::Embed& embed, EventSink& events) const {
    return planner_.plan(epoch, embed, events);
  }

  // What the loss takes of a batch of `set`, one of data(); see BatchReader.
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
