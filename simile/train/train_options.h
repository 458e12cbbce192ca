// SPDX-License-Identifier: Apache-2.0
// A recipe: everything that decides a training run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/mixing.h"
#include "simile/batch/plan.h"
#include "simile/core/options.h"
#include "simile/data/pair_data.h"
#include "simile/eval/task.h"
#include "simile/loss/loss_options.h"
#include "simile/train/adamw.h"
#include "simile/train/early_stop.h"
#include "simile/train/schedule.h"

namespace simile {

// Sizes of an encoder that starts from random weights.
struct ArchitectureOptions {
  int64_t layers = 0;  // 0: the recipe names a model instead
  int64_t hidden = 256;
  int64_t heads = 4;
  int64_t intermediate = 1024;
  int64_t positions = 512;
  std::string pooling = "mean";

  void visit(OptionVisitor& v);
};

// What a stage trains on, with which loss, in which order.
struct ObjectiveOptions {
  PairDataOptions data;
  LossOptions loss;
  OrderOptions order;
  int64_t batch_size = 32;
  double weight = 1;
  std::string name;  // empty: StageOptions::objective_name()

  void visit(OptionVisitor& v);
};

// When to evaluate, and which weights to keep.
struct SelectionOptions {
  std::string metric;  // "dev.spearman"; empty keeps the last weights
  int64_t every_steps = 0;
  double every_epochs = 1.0;
  EarlyStopOptions early_stop;

  void visit(OptionVisitor& v);
};

struct StageOptions {
  std::string name = "train";
  std::vector<ObjectiveOptions> objectives;  // at least one
  MixingOptions mixing;
  double epochs = 5;
  int64_t steps = 0;
  double learning_rate = 2e-5;
  AdamWOptions optimizer;
  ScheduleOptions schedule;
  SelectionOptions selection;

  // The name of an objective in logs: its own, or its number from 0.
  std::string objective_name(size_t objective) const;

  void visit(OptionVisitor& v);
};

// What every kind of training starts from.
struct StartOptions {
  std::string name = "run";
  int64_t seed = 1;
  std::string model;  // folder to start from; empty: architecture and tokenizer
  ArchitectureOptions architecture;
  std::string tokenizer;  // folder, tokenizer.json or vocab.txt

  void visit_start(OptionVisitor& v);
};

// A starting point is given, and only one. Errors: ErrorKind::kRecipe.
void check_start_options(const StartOptions& options);

struct TrainOptions : StartOptions {
  int64_t max_length = 0;
  std::string normalize = "auto";
  double hidden_dropout = -1;  // negative: as the model's config says
  double attention_dropout = -1;
  std::vector<StageOptions> stages;
  std::vector<EvaluationOptions> evaluations;
  std::vector<EvaluationOptions> tests;
  std::vector<std::string> baselines = {"bm25", "untrained"};
  std::string precision = "fp32";
  double save_every_minutes = 10;

  void visit(OptionVisitor& v);
};

// Checks what can be seen without the data: a starting point, at least one stage, each with an
// objective, names that are unique, a selection metric that names one of `evaluations`. Errors:
// ErrorKind::kRecipe.
void check_train_options(const TrainOptions& options);

}  // namespace simile
