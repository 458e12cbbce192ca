// SPDX-License-Identifier: Apache-2.0
// One stage of a recipe, ready to step: its order, loss, optimiser and schedule.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/checkpoint/model_settings.h"
#include "simile/core/event.h"
#include "simile/loss/loss.h"
#include "simile/nn/encoder_node.h"
#include "simile/text/tokenizer.h"
#include "simile/train/adamw.h"
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
  double loss = 0;
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  std::vector<std::pair<std::string, double>> values;  // of the loss: its temperature
};

class Stage {
 public:
  // `set` is the data of options.objective() and outlives this; the stage's name tells its random
  // streams from those of others.
  Stage(const StageOptions& options, const TrainedModel& model, const TrainingSet& set,
        EventSink& events);

  int64_t batches_per_epoch() const;
  int64_t total_steps() const;

  // The order of an epoch; `neighbours` embeds one side with the weights as they are.
  ExampleOrder order_epoch(int64_t epoch);

  // One step on the pairs `batch`. Errors: ErrorKind::kFailed when loss or gradient is not finite,
  // naming the step, the pairs and the likely causes; the weights are then as before.
  StepResult step(int64_t step, const std::vector<int32_t>& batch);

  AdamW& optimizer() { return optimizer_; }
  Loss& loss() { return loss_; }

 private:
  Matrix<float> embed_side(const std::vector<int32_t>& side);
  torch::Tensor embed_batch(const PackedBatch& packed, int64_t step);
  LossInput loss_input(const torch::Tensor& embeddings, const std::vector<int32_t>& batch) const;
  [[noreturn]] void fail_step(int64_t step, const std::vector<int32_t>& batch, const char* what,
                              double value) const;

  StageOptions options_;
  TrainedModel model_;
  EventSink& events_;
  const TrainingSet& set_;
  Loss loss_;
  std::vector<LossParameter> loss_parameters_;
  AdamW optimizer_;
  uint64_t dropout_key_, order_seed_;
};

}  // namespace simile
