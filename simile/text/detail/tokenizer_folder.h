// SPDX-License-Identifier: Apache-2.0
// Reads a tokenizer's files beside its vocabulary: tokenizer_config.json, special_tokens_map.json,
// added_tokens.json and config.json, as AutoTokenizer of transformers 5 does.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/vocabulary.h"

namespace simile::detail {

struct TokenizerFolder {
  // A token to find in texts. Where it has no id yet, it gets one behind all others.
  struct Token {
    AddedToken token;  // id: the one in the file; -1: none
    bool is_default;   // flags in tokenizer.json count before these
  };

  std::string source;              // path of tokenizer_config.json, for messages
  Json settings = Json::object();  // its keys; those of special_tokens_map.json replace them
  std::string name;                // class in transformers without "Fast"; empty: unknown
  std::vector<Token> tokens;       // in the order in which they get ids

  bool is_bert() const;  // BertTokenizer and classes that split texts as it does
  bool is_mpnet() const { return name == "MPNetTokenizer"; }
};

// `fallback`: the class if no file names one. Errors (kInput, naming file and key): an unexpected
// file; a class that splits texts with its own Python code; settings that no table of parts has.
TokenizerFolder read_tokenizer_folder(const std::string& folder, const std::string& fallback = "");

// Errors (kInput): `folder` holds a vocab.txt, but names no class that reads one.
void check_reads_vocabulary(const TokenizerFolder& folder);

// Changes parts of a tokenizer.json where the class takes their settings from
// tokenizer_config.json, with a warning each. Returns the members changed.
std::vector<std::string> apply_settings(const TokenizerFolder& folder, Json& root,
                                        const std::string& source, EventSink& events);

// Puts the folder's tokens among `added`, those of a tokenizer.json.
void add_tokens(const TokenizerFolder& folder, std::vector<AddedToken>& added);

// Whether texts are cut at their beginning: "truncation_side", else that of a tokenizer.json.
bool cuts_left(const TokenizerFolder& folder, const Json& root);

}  // namespace simile::detail
