// SPDX-License-Identifier: Apache-2.0
// Folders without a tokenizer.json: what their files amount to, written as one.
#pragma once

#include <string>

#include "simile/core/detail/json.h"

namespace simile::detail {

// The text of special token `key` in a tokenizer_config.json, which names it by its text or by an
// object that holds it under "content"; `fallback` when the file does not name it.
std::string read_token_name(const Json& config, const char* key, const std::string& fallback,
                            const std::string& source);

// A tokenizer_class without the "Fast" that may stand at its end.
std::string plain_class_name(const std::string& name);

// A byte-level BPE tokeniser from vocab.json (token to id) and merges.txt ("left right" a line,
// after a "#version" line), with the tokenizer_class, add_prefix_space and special tokens of
// tokenizer_config.json. Known classes: RoBERTa's (also BART's and Longformer's), with <s> and </s>
// around, and GPT-2's, with nothing; without a class it is RoBERTa's if the vocabulary has both <s>
// and </s>. Errors (kInput, naming the file): one that is missing or malformed; another class; a
// special token that the vocabulary lacks.
std::string byte_pair_document(const std::string& folder);

}  // namespace simile::detail
