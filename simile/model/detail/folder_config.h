// SPDX-License-Identifier: Apache-2.0
// Reads the JSON files of a model folder: modules.json and its entries (the modules and the
// pooling), what sentence-transformers does to texts before they reach the encoder (length limit,
// lower case, prompts), and how it compares vectors.
//
// Errors (ErrorKind::kInput) name file, key and value: a module, pooling or key that is not known
// or that would change the numbers in a way that is not supported, modules in an order that makes
// no sentence vector, a path that leads out of the model folder.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/model/model_settings.h"

namespace simile::detail {

struct ModuleEntry {
  std::string type;    // "Pooling": the last part of the type, which both schemas share
  std::string folder;  // inside the model folder
};

// Transformer and Pooling, or StaticEmbedding (static_weights.h), then Dense, LayerNorm and
// Normalize. Dropout is ignored. Errors (kInput): modules that earlier versions of Simile wrote
// (simile.Joined, simile.StaticEmbedding), and those above.
std::vector<ModuleEntry> read_module_list(const std::string& path);

// Errors (kInput): not the modules of a cross-encoder (`pairs`: none listed, or Transformer alone),
// or that one alone where texts are to have vectors.
void check_purpose(const std::vector<ModuleEntry>& list, bool pairs, const std::string& source);

bool is_static(const std::vector<ModuleEntry>& list);

// Errors: `object` has a key that is none of `known`.
void check_keys(const Json& object, const std::string& source,
                const std::vector<std::string>& known);

// Errors: the text `key` is there and not `only`.
void check_text(const JsonObject& json, const char* key, const std::string& only);

// Reads the folders of `list` (of the model folder `path`) into pooling, modules and normalize of
// `settings`, whose encoder is known. Normalize at the end becomes settings.normalize.
void read_modules(const std::string& path, const std::vector<ModuleEntry>& list,
                  ModelSettings& settings);

// max_length and lower_case from sentence_bert_config.json (or its namesakes of other families) and
// tokenizer_config.json in the encoder's folder.
void read_text_limits(const std::string& encoder_folder, ModelSettings& settings);

// max_length from "truncation" of a tokenizer.json, if it is set: for tables, which
// sentence-transformers reads with that file alone.
void read_truncation(const std::string& tokenizer, ModelSettings& settings);

// Prompts, similarity and dimensions from config_sentence_transformers.json, where it exists.
void read_sentence_config(const std::string& path, ModelSettings& settings);

}  // namespace simile::detail
