// SPDX-License-Identifier: Apache-2.0
// Reads a tokenizer's files beside its vocabulary: tokenizer_config.json, special_tokens_map.json,
// added_tokens.json and config.json, as AutoTokenizer of transformers 5 does, and "do_lower_case"
// of sentence_bert_config.json, as sentence-transformers 6 does.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/detail/tokenizer_class.h"
#include "simile/text/vocabulary.h"

namespace simile::detail {

struct TokenizerFolder {
  // A token to find in texts. Where it has no id yet, it gets one behind all others.
  struct Token {
    AddedToken token;  // id: the one in the file; -1: none
    bool is_default;   // named, not listed: comes behind the tokens of tokenizer.json
    bool sets_flags;   // the flags of a token with the same text become these
  };

  std::string source;              // path of tokenizer_config.json, for messages
  Json settings = Json::object();  // its keys; those of special_tokens_map.json replace them
  std::string name;                // class in transformers without "Fast"; empty: unknown
  TokenizerKind kind = TokenizerKind::kFile;  // the class's
  std::vector<Token> tokens;                  // in the order in which they get ids

  bool lower_case = false;  // "do_lower_case" of a file of sentence-transformers

  // BertTokenizer and classes that split texts as it does.
  bool is_bert() const { return kind == TokenizerKind::kBert || kind == TokenizerKind::kMpnet; }
  // The class takes a tokenizer.json's vocabulary and added tokens alone.
  bool is_rebuilt() const {
    return kind != TokenizerKind::kFile && kind != TokenizerKind::kUnknown;
  }
  // The text of special token `key` ("cls_token"), or the class's default; empty: none.
  std::string token(const char* key) const;
};

// `fallback`: the class if no file names one. Errors (kInput, naming file and key): an unexpected
// file; a class that splits texts with its own Python code; settings that no table of parts has.
TokenizerFolder read_tokenizer_folder(const std::string& folder, const std::string& fallback = "");

// sentence_bert_config.json and its namesakes of other families; the first that exists counts.
const std::vector<const char*>& sentence_file_names();

// Errors (kInput): `folder` holds a vocab.txt, but names no class that reads one.
void check_reads_vocabulary(const TokenizerFolder& folder);

// Warnings: settings that the fast tokenizers of transformers ignore.
void warn_of_ignored(const TokenizerFolder& folder, EventSink& events);

// Puts the folder's tokens among `added`, those of a tokenizer.json.
void add_tokens(const TokenizerFolder& folder, std::vector<AddedToken>& added);

// Whether texts are cut at their beginning: "truncation_side", else that of a tokenizer.json.
bool cuts_left(const TokenizerFolder& folder, const Json& root);

}  // namespace simile::detail
