// SPDX-License-Identifier: Apache-2.0
// A recipe: everything that decides a training run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/mining.h"
#include "simile/batch/order_table.h"
#include "simile/batch/plan.h"
#include "simile/core/options.h"
#include "simile/data/pair_data.h"
#include "simile/eval/task.h"
#include "simile/index/score_fusion.h"
#include "simile/loss/loss_options.h"
#include "simile/model/head_settings.h"
#include "simile/train/optimizer_rule.h"

namespace simile {

// An encoder that starts from weights of its own.
struct ArchitectureOptions {
  std::string family = "transformer";
  int64_t layers = 0;
  int64_t hidden = 256;
  int64_t heads = 4;
  int64_t intermediate = 1024;
  int64_t positions = 512;
  std::string pooling = "mean";
  std::string embeddings;    // a static model
  bool punctuation = false;  // for a static encoder

  bool is_static() const { return family == "static"; }
  bool is_set() const { return is_static() || layers > 0; }  // else the recipe names a model
  void visit(OptionVisitor& v);
};

// Data of the same kind on which an objective's loss is measured, not trained.
struct DevDataOptions {
  std::string path;  // in place of the objective's data.path
  std::string qrels;
  int64_t skip = 0;
  int64_t limit = 0;
  // Part of the folds; empty: another file is read whole, the same one as for training.
  std::string part;

  bool is_set() const {
    return !path.empty() || !qrels.empty() || skip > 0 || limit > 0 || !part.empty();
  }
  void visit(OptionVisitor& v);
};

// Negatives that a stage mines for an objective with the weights it begins with.
struct ObjectiveMiningOptions : MiningOptions {
  std::string as = "auto";
  double positive_above = 0.5;
  std::string corpus;
  int64_t every_epochs = 0;
  std::string precision = "fp32";  // kernel/matrix_product.h

  ObjectiveMiningOptions() { method = "none"; }
  bool is_on() const { return method != "none"; }
  bool as_pairs() const { return as == "pairs" || (as == "auto" && method == "ranks"); }

  void visit(OptionVisitor& v);
};

// Prefixes of an objective's texts: names of the model's prompts, or texts.
struct ColumnPromptOptions {
  std::string left;
  std::string right;  // also before negatives, and texts that they are mined from

  bool is_set() const { return !left.empty() || !right.empty(); }
  void visit(OptionVisitor& v);
};

// An objective of a stage: its data, its loss and the order of its examples.
struct ObjectiveOptions {
  PairDataOptions data;
  DevDataOptions dev;
  ColumnPromptOptions prompts;
  ObjectiveMiningOptions mine;
  LossOptions loss;
  OrderOptions order;
  int64_t batch_size = 32;
  int64_t chunk_tokens = 0;  // 0: no gradient caching
  double weight = 1;
  double share = 1;  // of mixing `shares`
  std::string name;  // empty: StageOptions::objective_name()
  std::string head;  // a name in TrainOptions::heads or of the model's heads; empty: none
  std::vector<std::string> teachers;       // earlier stages, or models
  std::string teacher_precision = "fp32";  // kernel/matrix_product.h
  std::string teacher_storage = "fp32";
  std::string teacher_vectors;     // a folder that runs share; empty: the run's own
  int64_t teacher_dimensions = 0;  // 0: as many as each teacher's vectors have
  double teacher_tokens = 0;       // factor on the loss of token_teacher.h; 0: none
  int64_t max_length = 0;          // 0: the run's

  // The objective's data, with the options of `dev` replacing its own.
  PairDataOptions dev_data() const;

  void visit(OptionVisitor& v);
};

// When a stage stops since its weights get no better.
struct EarlyStopOptions {
  int64_t patience = 0;
  double minimum_improvement = 0.0;
  std::string direction = "auto";  // who knows the metric puts max or min in its place

  void visit(OptionVisitor& v);
};

// When to evaluate, and which weights to keep.
struct SelectionOptions {
  std::vector<std::string> metric;  // "dev.spearman"; of several the mean; none keeps the last
  int64_t every_steps = 0;
  double every_epochs = 1.0;
  std::string keep = "best";
  std::string precision = "fp32";  // kernel/matrix_product.h
  EarlyStopOptions early_stop;
  bool has_new_head = false;  // no option: see keep_no_random_heads() (start_model.h)

  bool keeps_best() const { return keep != "last"; }
  // Whether the weights that the stage begins with may be those it keeps.
  bool may_keep_start() const { return keep == "best" && !has_new_head; }

  void visit(OptionVisitor& v);
};

struct StageOptions {
  std::string name = "train";
  std::string from = "previous";  // or "start", or the name of an earlier stage
  bool frozen = false;
  std::vector<ObjectiveOptions> objectives;  // at least one
  MixingOptions mixing;
  double epochs = 5;
  int64_t steps = 0;
  double minutes = 0;
  int64_t accumulation = 1;
  double learning_rate = 0;       // 0: see choose_learning_rates() (start_model.h)
  double head_learning_rate = 0;  // 0: the same, where learning_rate is given
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  SiarOptions siar;
  SelectionOptions selection;

  bool has_head() const;  // an objective does

  // The name of an objective in logs: its own, or its number from 0.
  std::string objective_name(size_t objective) const;

  void visit(OptionVisitor& v);
};

// Options that every kind of training starts from.
struct StartOptions {
  std::string name = "run";
  int64_t seed = 1;
  std::string model;  // folder to start from; empty: architecture and tokenizer
  ArchitectureOptions architecture;
  std::string tokenizer;        // folder, tokenizer.json or vocab.txt
  std::string pooling;          // in place of that of `model`
  std::string engine = "auto";  // see placement.h
  std::string device = "cpu";
  std::string compute = "fp32";

  void visit_start(OptionVisitor& v);
};

// When states are saved, and how many are kept.
struct SaveOptions {
  double save_every_minutes = 10;
  int64_t keep_states = 2;
  bool save_evaluations = true;

  void visit(OptionVisitor& v);
};

struct TrainOptions : StartOptions {
  int64_t max_length = 0;
  std::string normalize = "auto";
  double hidden_dropout = -1;  // negative: as the model's config says
  double attention_dropout = -1;
  double drop_head = 0;
  std::vector<HeadSettings> heads;
  std::vector<StageOptions> stages;
  std::vector<EvaluationOptions> evaluations;
  std::vector<EvaluationOptions> tests;
  std::vector<std::string> baselines = {"bm25", "untrained"};
  FusionOptions hybrid;
  std::string data_checks = "stop";
  std::string precision = "fp32";
  SaveOptions save;
  int64_t runs = 1;
  int64_t folds = 0;

  void visit(OptionVisitor& v);
};

// Whether the run chooses the weight of a hybrid: an evaluation is a ranking, or a test has dev.
bool chooses_hybrid_weight(const TrainOptions& options);

// Whether a baseline is a start whose figures differ from seed to seed: one with random weights, of
// the encoder or of a head. Reports call the start `untrained`, or `zero-shot` if it is a model.
bool depends_on_seed(const std::string& baseline, const TrainOptions& recipe);

// The evaluation that measures the losses of a stage on the objectives' `dev` data.
inline constexpr const char* kLossEvaluation = "loss";

// Raise this when the same recipe, data and model train or are evaluated differently than before: a
// default, a loss, an order of examples, a metric. Cached results, such as the runs of papers'
// tables, are then computed anew.
inline constexpr int kTrainingVersion = 5;

// The number of the earlier stage that `name` means, or -1 where it is none.
int64_t find_stage(const TrainOptions& options, const std::string& name, size_t before);

}  // namespace simile
