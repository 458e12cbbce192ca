// SPDX-License-Identifier: Apache-2.0
// A model on disk, called by path or, one that comes with the program, by name: the folder layout
// of sentence-transformers, or a plain Hugging Face encoder.
//
// Read: modules.json with types of the old schema (sentence_transformers.models.Pooling) and the
// new (...sentence_transformer.modules.pooling.Pooling), told apart by their last part:
// Transformer, Pooling (the six booleans or pooling_mode, one or several modes, include_prompt), or
// StaticEmbedding in their place (static_weights.h), then any of Dense, LayerNorm and Normalize
// (model_settings.h); weights
// in one file or several, safetensors or torch's (tensor_source.h); the length limit from
// sentence_bert_config.json (max_seq_length) or tokenizer_config.json (model_max_length), never
// more than the position table holds, whatever truncation and padding tokenizer.json asks for;
// do_lower_case; prompts, similarity and truncate_dim from config_sentence_transformers.json.
// Without modules.json, a folder is Model2Vec's where its config.json says so; else the pooling is
// the family's usual one, vectors are not normalised, and a warning says so. A module, key or value
// that is not known is an error that names it, never skipped.
//
// Task heads lie beside them, see module_reader.h, trained temperatures in simile.json, and in
// checksums.json (simile/core/hash.h) the checksums of all these files: opening a folder that has
// one verifies all but the weights, verified when they are read. model_writer.h writes folders.
//
// Errors: ErrorKind::kInput for files that cannot be read or used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simile/core/error.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/model_settings.h"
#include "simile/model/module_reader.h"
#include "simile/text/tokenizer.h"

namespace simile {

// The folder of a model that was called by path or by name.
//
// A file, or a folder that holds one of model_marks(), is a path and is returned unchanged, and so
// is a text that cannot be a name. ORG/NAME is a model in the cache of the Hugging Face hub
// (simile/model/hub.h). A value without '/' names a folder NAME with one of the marks, looked for
// in this order, and last in that cache:
//   1. in each folder of the environment variable SIMILE_MODELS (separated by ':');
//   2. in ../share/simile/models beside the program's folder (installed);
//   3. in models/ of the program's folder and of up to six folders above it (built in the source
//      tree);
//   4. in the folder that the build names (SIMILE_MODELS_FOLDER): models/ of the source tree it was
//      built from, wherever it was built, or where a package installs them;
//   5. in models/ of the current folder.
// Without one, a folder that exists is returned as it is. Errors: ErrorKind::kInput when there is
// nothing at all, with the folders searched and the names they hold, or how to fetch the model;
// ErrorKind::kUsage for hybrid:MODEL, which is not a model (see kHybridPrefix).
std::string resolve_model(const std::string& name_or_path);

// Before the name of a model: the model and BM25 together (simile/eval/hybrid_scorer.h).
inline constexpr std::string_view kHybridPrefix = "hybrid:";

// Files that mark a folder as that of a model, or at least of its tokenizer.
const std::vector<std::string>& model_marks();

// The folders searched up to 3., in order, for a program's folder and a value of SIMILE_MODELS.
std::vector<std::string> model_folders(const std::string& program_folder,
                                       const std::string& variable);

struct ModelFolder {
  std::string path;  // of the folder, also when it was opened by a model's name
  ModelSettings settings;
  std::string weights_path;    // see find_weights(): of the encoder; modules hold their own
  std::string tokenizer_path;  // tokenizer.json, else vocab.txt, else the tokenizer's folder
  bool reads_alone = false;    // that tokenizer.json without the files beside it: of static tables
  std::vector<SavedHead> heads;  // by name
};

// Where Tokenizer::load() finds the tokenizer of a model, given as for resolve_model(), or of a
// folder or file without one: the folder of the module that reads texts.
std::string find_tokenizer(const std::string& name_or_path);

// That tokenizer, with special tokens where the model puts them around texts.
Tokenizer open_tokenizer(const std::string& name_or_path, EventSink& events);

// The tokenizer of a model, as the libraries that its files are for read it.
Tokenizer load_tokenizer(const ModelFolder& model, EventSink& events = silent_events());

// The purpose of a model: cross-encoders (cross_encoder.cpp) only score pairs.
enum class ModelUse { kVectors, kPairs };

// Reads everything but the encoder's weights (milliseconds) of the model in a folder, or of the
// built-in model of that name (resolve_model()); `path` of the
// result is its folder. Errors (kInput): a cross-encoder, where vectors are wanted.
ModelFolder open_model_folder(const std::string& name_or_path, EventSink& events,
                              ModelUse use = ModelUse::kVectors);

// Whether a config.json is that of a classifier with one label.
bool is_cross_encoder(const std::string& config_path);

// Sets pooling, modules and head of `model`, whose encoder is known. `folder`: the encoder's.
// Errors (kInput, naming file and key): another activation, a family without such a head, a weight
// that is missing, of another shape or not finite.
void read_cross_encoder(const std::string& folder, ModelFolder& model);

}  // namespace simile
