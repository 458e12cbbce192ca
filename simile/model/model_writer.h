// SPDX-License-Identifier: Apache-2.0
// Model folders, written in the schema that all sentence-transformers load; see model_folder.h.
#pragma once

#include <string>
#include <vector>

#include "simile/model/encoder_tensors.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_card.h"
#include "simile/model/model_settings.h"
#include "simile/model/safetensors.h"
#include "simile/model/tokenizer_files.h"

namespace simile {

struct HeadToSave {
  HeadSettings settings;
  const float* weights = nullptr;  // flat, in the order of head_layout()
};

struct ModelToSave {
  ModelSettings settings;
  const float* weights = nullptr;  // flat, in the order of encoder_layout()
  // kF32, kF16, kBf16 or kI8. The self test is of the weights as saved: those that
  // round_encoder_weights() (encoder_tensors.h) leaves.
  TensorType weight_type = TensorType::kF32;
  std::vector<TensorView> other_tensors;  // saved beside the encoder's, as they are
  TokenizerFiles tokenizer;               // completed by complete_tokenizer_files() when saved
  std::string model_card;                 // README.md
  SelfTest self_test;                     // written when it has texts
  std::vector<HeadToSave> heads;          // always in single precision
};

// Writes the folder under a temporary name and moves it to `path`, replacing a model folder
// there. Errors: kIo for files that cannot be written, kFailed for weights that the requested
// precision cannot hold, kUsage if `path` is a folder without modules.json that is not empty,
// kRecipe for heads that check_heads() refuses.
void save_model_folder(const std::string& path, const ModelToSave& model);

}  // namespace simile
