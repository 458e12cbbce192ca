// SPDX-License-Identifier: Apache-2.0
// Folders without a tokenizer.json: what their files amount to, written as one.
#pragma once

#include <string>
#include <vector>

#include "simile/text/tokenizer.h"

namespace simile::detail {

// A BERT tokeniser whose token i is tokens[i]. Errors (kInput, naming `source`): a token that
// occurs twice; the unk, cls or sep token is not among them.
std::string bert_document(const std::vector<std::string>& tokens,
                          const BertTokenizerSettings& settings, const std::string& source);

// The same from a vocab.txt (a token a line) and the tokenizer_config.json of `folder`.
std::string bert_document(const std::string& vocabulary, const std::string& folder);

// A byte-level BPE tokeniser from vocab.json (token to id) and merges.txt ("left right" a line,
// after a "#version" line), with the tokenizer_class, add_prefix_space and special tokens of
// tokenizer_config.json. Known classes: RoBERTa's (also BART's and Longformer's), with <s> and </s>
// around, and GPT-2's, with nothing; without a class it is RoBERTa's if the vocabulary has both <s>
// and </s>. Errors (kInput, naming the file): one that is missing or malformed; another class; a
// special token that the vocabulary lacks.
std::string byte_pair_document(const std::string& folder);

// A tokeniser from a sentencepiece model and the settings in `folder`, which name its family:
// "tokenizer_class" of tokenizer_config.json, else "model_type" of config.json, else plain. Errors
// (kInput, naming the file): another tokenizer_class; values of the wrong type; as
// parse_sentencepiece_model() and sentencepiece_document() (sentencepiece_document.h).
std::string sentencepiece_document(const std::string& model, const std::string& folder);

}  // namespace simile::detail
