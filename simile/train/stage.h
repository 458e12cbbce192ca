// SPDX-License-Identifier: Apache-2.0
// One stage of a recipe, ready to step: its objectives and how they take turns, optimiser and
// schedule.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/checkpoint/model_settings.h"
#include "simile/core/event.h"
#include "simile/nn/encoder_node.h"
#include "simile/text/tokenizer.h"
#include "simile/train/adamw.h"
#include "simile/train/objective.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// What a stage trains: lives as long as the run.
struct TrainedModel {
  EncoderNode& encoder;
  const Tokenizer& tokenizer;
  const ModelSettings& settings;
  uint64_t seed;
};

struct StepResult {
  std::string objective;     // its name; empty in a stage that has but one
  double loss = 0;           // of the objective, without its weight
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  std::vector<std::pair<std::string, double>> values;  // of the loss: its temperature
};

class Stage {
 public:
  // `sets` is the data of options.objectives, in their order, and outlives this; the stage's name
  // tells its random streams from those of others.
  Stage(const StageOptions& options, const TrainedModel& model,
        const std::vector<TrainingSet>& sets, EventSink& events);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }  // of all objectives, mixed
  int64_t total_steps() const;
  double pairs_per_step() const { return pairs_per_step_; }  // were every batch full, on average

  // The number of the objective that each batch of an epoch is taken from.
  std::vector<int32_t> mix_epoch(int64_t epoch) const;

  // The order of an epoch of one objective; `neighbours` embeds one side with the weights as they
  // are.
  ExampleOrder order_epoch(size_t objective, int64_t epoch);

  // One step on the pairs `batch` of one objective. Errors: ErrorKind::kFailed when loss or
  // gradient is not finite, naming the step, the pairs and the likely causes; the weights are then
  // as before.
  StepResult step(int64_t step, size_t objective, const std::vector<int32_t>& batch);

  AdamW& optimizer() { return optimizer_; }
  std::vector<Objective>& objectives() { return objectives_; }

 private:
  Matrix<float> embed_texts(const std::vector<std::vector<int32_t>>& texts);
  torch::Tensor embed_batch(const PackedBatch& packed, int64_t step);
  std::vector<float*> loss_gradients() const;
  [[noreturn]] void fail_step(int64_t step, const Objective& objective,
                              const std::vector<int32_t>& batch, const char* what,
                              double value) const;

  StageOptions options_;
  TrainedModel model_;
  EventSink& events_;
  std::vector<Objective> objectives_;
  AdamW optimizer_;
  uint64_t dropout_key_, mixing_seed_;
  int64_t batches_per_epoch_ = 0;
  double pairs_per_step_ = 0;
};

}  // namespace simile
