// SPDX-License-Identifier: Apache-2.0
// Masked-language-model pre-training: its recipe, and the run: text in, a model folder out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/packing.h"
#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/train/train_options.h"
#include "simile/train/trainer.h"

namespace simile {

struct HeldOutOptions {
  std::string path;
  int64_t limit = 2000;
  int64_t every_steps = 500;

  void visit(OptionVisitor& v);
};

struct PretrainOptions : StartOptions {
  std::vector<std::string> corpus;
  int64_t shuffle_buffer = 65536;
  int64_t max_length = 128;
  int64_t batch_tokens = 4096;
  int64_t accumulation = 1;
  int64_t steps = 0;
  double epochs = 1;
  MaskOptions mask;
  double hidden_dropout = 0;
  double attention_dropout = 0;
  double learning_rate = 1e-3;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  HeldOutOptions held_out;
  SaveOptions save;

  PretrainOptions();
  void visit(OptionVisitor& v);
};

// Trains an encoder by the recipe (PretrainOptions) in `folder`, runs/NAME when
// that is empty. The folder then holds what train() leaves; model/ is written anew at each look at
// the held-out texts, with the pooling of the start model or of the recipe's architecture and the
// dropout of its configuration, not that of the recipe. The masked-language-model head is
// kept in the saved states only.
//
// The loss of a step is the mean over its masked tokens, in nats; held-out texts are always masked
// alike. Reported: masked_accuracy and perplexity = exp(mean loss).
//
// Same bits on any number of threads, and after resume. Interruption and errors as train();
// ErrorKind::kInput also for a corpus that cannot be read to its end, before the first step, and
// for a resume when its texts or the tokenizer are not those of the run.
TrainResult pretrain(const ConfigNode& recipe, const std::string& folder, bool resume,
                     bool overwrite, EventSink& events);

}  // namespace simile
