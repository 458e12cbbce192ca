// SPDX-License-Identifier: Apache-2.0
// What a run starts from, and the model folder it ends with.
#pragma once

#include <string>
#include <vector>

#include "simile/checkpoint/model_settings.h"
#include "simile/checkpoint/tokenizer_files.h"
#include "simile/core/event.h"
#include "simile/eval/report.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/text/tokenizer.h"
#include "simile/train/train_options.h"

namespace simile {

struct StartModel {
  Tokenizer tokenizer;  // with the recipe's length limit
  TokenizerFiles tokenizer_files;
  ModelSettings settings;      // with the recipe's length limit and dropout
  std::vector<float> weights;  // flat, in the order of encoder_layout()
};

// The recipe's `model`, or random weights of its `architecture` with its `tokenizer`. Errors:
// ErrorKind::kRecipe for sizes that do not fit each other, ErrorKind::kInput for files that cannot
// be used.
StartModel load_start_model(const TrainOptions& options, EventSink& events);

// Rounds weights [count] in place to the recipe's `precision`: what the saved model will give back.
void round_to_precision(const TrainOptions& options, float* flat, int64_t count);

// Writes a model folder in the recipe's `precision`, to which the weights were rounded: weights,
// tokenizer, a card with recipe and metrics, and a self test. `weights` and `flat` are the same
// numbers.
void save_trained_model(const std::string& path, const TrainOptions& options,
                        const StartModel& start, const EncoderWeights& weights, const float* flat,
                        const std::vector<Report>& reports);

}  // namespace simile
