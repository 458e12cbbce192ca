// SPDX-License-Identifier: Apache-2.0
// A model on disk: the folder layout of sentence-transformers, or a plain Hugging Face encoder.
//
// Read: modules.json with types of the old schema (sentence_transformers.models.Pooling) and the
// new (...sentence_transformer.modules.pooling.Pooling), told apart by their last part:
// Transformer, Pooling (the six booleans or pooling_mode, one or several modes, include_prompt), or
// StaticEmbedding in their place (static_weights.h), or simile.Joined, which holds whole model
// folders (joined_model.h), then any of Dense, LayerNorm and Normalize (module_settings.h); weights
// in one file or several, safetensors or torch's (tensor_source.h); the length limit from
// sentence_bert_config.json (max_seq_length) or tokenizer_config.json (model_max_length), never
// more than the position table holds, whatever truncation and padding tokenizer.json asks for;
// do_lower_case; prompts, similarity and truncate_dim from config_sentence_transformers.json.
// Without modules.json, a folder is Model2Vec's where its config.json says so; else the pooling is
// the family's usual one, vectors are not normalised, and a warning says so. A module, key or value
// that is not known is an error that names it, never skipped.
//
// Written: the old schema, which old and new sentence-transformers load. Task heads lie beside
// them, see head_reader.h, trained temperatures in simile.json, and in checksums.json
// (simile/core/checksums.h) what all these files were: opening a folder that has one verifies all
// but the weights, which are verified when they are read.
//
// Errors: ErrorKind::kInput for what cannot be read or used, ErrorKind::kIo for what cannot be
// written, ErrorKind::kFailed for weights that the precision asked for cannot hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/head_reader.h"
#include "simile/model/model_settings.h"
#include "simile/model/safetensors.h"
#include "simile/model/self_test.h"
#include "simile/model/tokenizer_files.h"

namespace simile {

struct ModelFolder {
  std::string path;  // of the folder, also when it was opened by a model's name
  ModelSettings settings;
  // See find_weights(): of the encoder; modules hold their own. Of a joined model the list of its
  // parts, which encoder_reader.h follows.
  std::string weights_path;
  std::string tokenizer_path;    // tokenizer.json, else vocab.txt, else the tokenizer's folder
  std::vector<SavedHead> heads;  // by name
};

// Reads everything but the encoder's weights (milliseconds) of the model in a folder, or of the
// built-in model of that name (resolve_model() in simile/model/builtin_model.h); `path` of the
// result is its folder.
ModelFolder open_model_folder(const std::string& name_or_path, EventSink& events);

struct HeadToSave {
  HeadSettings settings;
  const float* weights = nullptr;  // flat, in the order of head_layout()
};

// What the parts of a joined model do not have in common.
struct PartToSave {
  TensorType weight_type = TensorType::kF32;
  std::map<std::string, std::string> files;  // name and bytes: README.md, LICENSE
};

struct ModelToSave {
  ModelSettings settings;
  const float* weights = nullptr;  // flat, in the order of encoder_layout()
  // kF32, kF16, kBf16 or kI8. The self test is of the weights as saved: those that
  // round_encoder_weights() (encoder_reader.h) leaves.
  TensorType weight_type = TensorType::kF32;
  std::vector<TensorView> other_tensors;  // saved beside the encoder's, as they are; none of parts
  std::vector<PartToSave> parts;  // of a joined model; none: all as weight_type, without files
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
