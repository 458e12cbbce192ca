// SPDX-License-Identifier: Apache-2.0
// The model that a run starts from, and the model folder it ends with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/report.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"
#include "simile/model/tokenizer_files.h"
#include "simile/text/tokenizer.h"
#include "simile/train/placement.h"
#include "simile/train/train_options.h"

namespace simile {

// A tensor outside the encoder that is not trained, saved for programs that need it.
struct KeptTensor {
  std::string name;
  std::vector<int64_t> shape;
  TensorType type;
  std::string bytes;
};

struct StartModel {
  Tokenizer tokenizer;  // with the recipe's length limit
  TokenizerFiles tokenizer_files;
  ModelSettings settings;                   // with the recipe's length limit and dropout
  std::vector<HeadSettings> heads;          // the recipe's, then the model's others
  std::vector<std::string> new_heads = {};  // those with random weights
  std::vector<float> weights = {};          // as ModelWeights::copy() lists them
  std::vector<KeptTensor> pooler = {};      // of the model
};

// The recipe's `model`, or random weights of its `architecture` with its `tokenizer`. A head of the
// recipe that the model has too keeps its weights; one that it does not have starts at random.
// Errors: ErrorKind::kRecipe for sizes that do not fit, ErrorKind::kInput for unusable files.
StartModel load_start_model(const TrainOptions& options, EventSink& events);

// Gives the stages without a learning rate the rates that suit the model, and reports them. The help
// of StageOptions has them. Rates that the recipe gives stay. Measurements: docs/results/rates.md.
void choose_learning_rates(const EncoderConfig& config, TrainOptions& options, EventSink& events);

// Stages that keep the best weights, and are the first to train a head with random weights, do not
// keep their first weights: on a small dev set a random head may be as good as a trained one.
void keep_no_random_heads(const std::vector<std::string>& new_heads, TrainOptions& options);

// Rounds the encoder's weights to the recipe's `precision`, as the saved model will have them.
void round_to_precision(const TrainOptions& options, TrainableEncoder& encoder);

// Writes a model folder in the recipe's `precision`, to which the weights were rounded: weights,
// heads, tokenizer, trained temperatures, a card with recipe and metrics, and a self test.
void save_trained_model(const std::string& path, const TrainOptions& options,
                        const StartModel& start, ModelWeights& weights,
                        const Temperatures& temperatures, const std::vector<Report>& reports);

struct RunCard {
  std::string introduction;       // a paragraph
  std::vector<std::string> data;  // a line for each set
  std::vector<Report> reports;
  std::string recipe;  // as JSON
};

// `type`: how the weights are stored.
std::string make_run_card(const StartOptions& start, const RunCard& run,
                          const ModelSettings& settings, TensorType type = TensorType::kF32);

}  // namespace simile
