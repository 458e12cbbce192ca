// SPDX-License-Identifier: Apache-2.0
// A model on disk: the folder layout of sentence-transformers, or a plain Hugging Face encoder.
//
// Read: modules.json with types of the old schema (sentence_transformers.models.Pooling) and the
// new
// (...sentence_transformer.modules.pooling.Pooling), told apart by their last part; 1_Pooling with
// the six booleans or pooling_mode; the length limit from sentence_bert_config.json
// (max_seq_length) or tokenizer_config.json (model_max_length), never more than the position table
// holds; prompts from config_sentence_transformers.json. Without modules.json, vectors are the mean
// of the tokens, not normalised, and a warning says so. Modules other than Transformer, Pooling
// (cls, mean, max) and Normalize are an error, never skipped. Written: the old schema, which old
// and new sentence-transformers load. Task heads lie beside them, see head_checkpoint.h,
// and trained temperatures in simile.json.
//
// Errors: ErrorKind::kInput for what cannot be read or used, ErrorKind::kIo for what cannot be
// written, ErrorKind::kFailed for weights that the precision asked for cannot hold.
#pragma once

#include <string>
#include <vector>

#include "simile/checkpoint/encoder_checkpoint.h"
#include "simile/checkpoint/head_checkpoint.h"
#include "simile/checkpoint/model_settings.h"
#include "simile/checkpoint/self_test.h"
#include "simile/checkpoint/tokenizer_files.h"
#include "simile/core/event.h"

namespace simile {

struct ModelFolder {
  std::string path;  // of the folder, also when it was opened by a model's name
  ModelSettings settings;
  std::string weights_path;      // model.safetensors
  std::string tokenizer_path;    // tokenizer.json, or vocab.txt where there is none
  std::vector<SavedHead> heads;  // by name
};

// Reads everything but the weights (milliseconds) of the model in a folder, or of the built-in
// model of that name (resolve_model() in simile/checkpoint/builtin_model.h); `path` of the result
// is its folder.
ModelFolder open_model_folder(const std::string& name_or_path, EventSink& events);

struct HeadToSave {
  HeadSettings settings;
  const float* weights = nullptr;  // flat, in the order of head_layout()
};

struct ModelToSave {
  ModelSettings settings;
  const float* weights = nullptr;  // flat, in the order of encoder_layout()
  // kF32, kF16 or kBf16. The self test is of the weights as saved: with kF16, of those that
  // round_to_halves() (simile/core/half.h) leaves.
  TensorType weight_type = TensorType::kF32;
  TokenizerFiles tokenizer;       // completed by complete_tokenizer_files() when saved
  std::string model_card;         // README.md
  SelfTest self_test;             // written when it has texts
  std::vector<HeadToSave> heads;  // always in single precision
};

// Writes the folder under a temporary name and moves it to `path`, replacing a model folder
// there. Errors: kUsage when a folder without modules.json stands there that is not empty, kRecipe
// for heads that check_heads() refuses.
void save_model_folder(const std::string& path, const ModelToSave& model);

}  // namespace simile
