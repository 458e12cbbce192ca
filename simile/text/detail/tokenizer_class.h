// SPDX-License-Identifier: Apache-2.0
// The tokenizer classes of transformers 5 that build their own parts: beside a tokenizer.json they
// take its vocabulary, merges, character table and added tokens, and ignore its other settings.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/detail/components.h"

namespace simile::detail {

struct TokenizerFolder;

enum class TokenizerKind {
  kFile,     // a tokenizer.json decides alone
  kUnknown,  // builds its own parts, which are not known here
  kBert,
  kMpnet,
  kGpt2,
  kRoberta,
  kXlmRoberta,
  kCamembert,
  kAlbert,
};

// `name`: the class, without a final "Fast".
TokenizerKind tokenizer_kind(const std::string& name);

// The classes of a kind.
std::vector<std::string> tokenizer_classes(TokenizerKind kind);

// The special tokens of a kind where no file names them, such as "cls_token": "[CLS]".
std::map<std::string, std::string> default_tokens(TokenizerKind kind);

// Words begin at white space, and each with U+2581: as unigram models cut them. `prefix`: also the
// first word of a text that does not begin with a space.
Json white_space_pre_tokenizer(bool prefix);

// Puts the class's normalizer, pre_tokenizer and model options in the place of those in `root`, a
// tokenizer.json whose tables are `tables`. Warnings: each that differs. Returns the members
// changed, such as "normalizer" and "model.unk_id".
std::vector<std::string> apply_class(const TokenizerFolder& folder, const ModelTables& tables,
                                     Json& root, const std::string& source, EventSink& events);

// The class's post_processor; null where it keeps that of `root`, a tokenizer.json after
// apply_class(). find_id(token) gives the id of a special token.
Json class_post_processor(const TokenizerFolder& folder, const Json& root,
                          const std::function<int32_t(const std::string&)>& find_id);

}  // namespace simile::detail
