// SPDX-License-Identifier: Apache-2.0
// The files of a tokenizer inside a model folder, as bytes by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simile {

using TokenizerFiles = std::map<std::string, std::string>;  // file name -> bytes

// tokenizer.json, tokenizer_config.json, special_tokens_map.json, added_tokens.json, vocab.txt,
// vocab.json, merges.txt, sentencepiece.bpe.model, spiece.model, tokenizer.model and bpe.codes.
const std::vector<std::string>& tokenizer_file_names();

// Those of tokenizer_file_names() that `folder` has.
TokenizerFiles read_tokenizer_files(const std::string& folder);

// Whether the tokenizer of a folder makes its texts lower case: by the normaliser of
// tokenizer.json, or where there is none, by tokenizer_config.json.
bool tokenizer_lower_cases(const std::string& folder);

// Adds what transformers needs beside tokenizer.json and what is missing: tokenizer_config.json,
// special_tokens_map.json and, for WordPiece, vocab.txt (line i is the token with id i). Existing
// files are kept, but for model_max_length, which becomes `max_length`. Without `token_types` the
// tokenizer is told not to make any: some encoders of transformers do not take them.
void complete_tokenizer_files(TokenizerFiles& files, int64_t max_length, bool token_types = true);

}  // namespace simile
