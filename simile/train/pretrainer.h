// SPDX-License-Identifier: Apache-2.0
// A recipe of masked-language-model pre-training; pretrain() (trainer.h) runs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/batch/packing.h"
#include "simile/core/options.h"
#include "simile/train/train_options.h"

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

}  // namespace simile
