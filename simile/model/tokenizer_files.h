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

// Reads the files of tokenizer_file_names() that `folder` has.
TokenizerFiles read_tokenizer_files(const std::string& folder);

// Adds missing files that transformers needs beside tokenizer.json: tokenizer_config.json,
// special_tokens_map.json and, for WordPiece, vocab.txt (line i is the token with id i). Existing
// files are kept, except that model_max_length becomes `max_length`. Without `token_types` the
// tokenizer makes none, because some encoders of transformers do not accept them.
void complete_tokenizer_files(TokenizerFiles& files, int64_t max_length, bool token_types = true);

}  // namespace simile
