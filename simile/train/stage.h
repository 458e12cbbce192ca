// SPDX-License-Identifier: Apache-2.0
// One stage of a recipe, ready to step: its objectives, their turns, optimiser and schedule.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/report.h"
#include "simile/model/model_settings.h"
#include "simile/report/run_log.h"
#include "simile/text/tokenizer.h"
#include "simile/train/gradient_cache.h"
#include "simile/train/objective.h"
#include "simile/train/optimizer.h"
#include "simile/train/placement.h"
#include "simile/train/shared_training.h"
#include "simile/train/smoothing.h"
#include "simile/train/token_teacher.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {

// The model that a stage trains; lives as long as the run.
struct TrainedModel {
  ModelWeights& weights;
  const Tokenizer& tokenizer;
  const ModelSettings& settings;
  double drop_head;
  uint64_t seed;
  SharedProcesses* processes = nullptr;  // null: this one alone
};

// A batch of one objective: a step, or with gradient accumulation a part of one.
struct StepPart {
  size_t objective = 0;
  std::vector<int32_t> examples;  // of its training set
};

class Stage {
 public:
  // `data` is that of options.objectives, in their order, and outlives this; the stage's name
  // separates its random streams from those of other stages. Errors (kRecipe): a head that does not
  // exist; a loss that does not fit its head or teachers.
  Stage(const StageOptions& options, const TrainedModel& model,
        const std::vector<ObjectiveData>& data, EventSink& events);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }  // of all objectives, mixed
  int64_t steps_per_epoch() const;  // a step does not reach into the next epoch
  int64_t total_steps() const;
  void plan_steps(int64_t steps) { options_.steps = steps; }  // in all, from now on
  double pairs_per_step() const { return pairs_per_step_; }   // were every batch full, on average

  // The number of the objective that each batch of an epoch is taken from.
  std::vector<int32_t> mix_epoch(int64_t epoch) const;

  // The batches of an objective's epoch; orders that compare vectors embed with the weights of now.
  Batches plan_epoch(size_t objective, int64_t epoch);

  // One step on the gradients of all parts: of each objective the mean over its examples, of
  // several objectives by their numbers of parts. Errors: ErrorKind::kFailed when loss or gradient
  // is not finite, naming the step, the pairs and the likely causes, or a device's memory does not
  // suffice for the least pieces that a batch is encoded in; the weights are then as before.
  StepResult step(int64_t step, const std::vector<StepPart>& parts);

  // The losses on the objectives' dev data, without dropout: one metric for each objective that has
  // some, and `all`, their weighted sum; or nothing. After Optimizer::flush_rows().
  std::optional<Report> measure_losses();

  Optimizer& optimizer() { return *optimizer_; }
  std::vector<Objective>& objectives() { return objectives_; }
  Smoothing& smoothing() { return smoothing_; }

 private:
  StepBatch make_batch(int64_t number, const Objective& objective,
                       const std::vector<int32_t>& examples) const;
  // And pool; `hidden` gets the states of tokens.
  torch::Tensor encode(const BatchChunk& chunk, torch::Tensor* hidden = nullptr);
  // Vectors of a batch that a loss takes. Where `is_leaf`, carry() takes their gradient on.
  struct BatchVectors {
    torch::Tensor vectors;
    bool is_leaf = false;
    torch::Tensor own;          // this process's, where they are one chunk; else not defined
    torch::Tensor hidden = {};  // states of tokens, of a batch in one chunk
  };
  BatchVectors embed(const StepBatch& batch);
  BatchVectors embed_share(const StepBatch& batch);
  void carry(const StepBatch& batch, const BatchVectors& embedded, bool ends_step);
  // The losses of a part of a step, on the device; read after all work of the step was queued.
  struct PartLoss {
    torch::Tensor loss, penalty;  // one number each; the second not defined where there is none
  };
  std::vector<PartLoss> add_all_gradients(int64_t step, const std::vector<StepPart>& parts,
                                          const std::vector<double>& shares);
  bool halve_chunks(const StepPart& part);
  PartLoss add_gradients(int64_t number, const StepPart& part, double share, bool ends_step);
  void add_values(const std::vector<StepPart>& parts, StepResult& result) const;
  torch::Tensor encode_texts(const TrainingSet& set, const std::vector<int32_t>& texts);
  torch::Tensor encode_share(const TrainingSet& set, const std::vector<int32_t>& texts);
  torch::Tensor embed_without_dropout(const TrainingSet& set, const std::vector<int32_t>& texts);
  double measure_loss(const Objective& objective);
  [[noreturn]] void fail_step(int64_t step, const std::vector<StepPart>& parts, const char* what,
                              double value) const;

  StageOptions options_;
  TrainedModel model_;
  EventSink& events_;
  std::vector<Objective> objectives_;
  std::map<size_t, TokenTeacher> token_teachers_;  // by objective
  std::unique_ptr<Optimizer> optimizer_;
  Smoothing smoothing_;
  std::optional<SharedGradients> shared_;  // of several processes
  uint64_t dropout_key_, mixing_seed_;
  int64_t batches_per_epoch_ = 0;
  double pairs_per_step_ = 0;
  std::map<const TrainingSet*, torch::Tensor> frozen_vectors_;  // [texts, H] of a frozen encoder
};

}  // namespace simile
