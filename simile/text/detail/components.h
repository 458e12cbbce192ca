// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json made into objects. Each kind of part has one table from the name in
// "type" to the function that reads it; a new component is a row there (the *_reader.cpp).
//
// Errors (kInput, naming `source` and the part): an unknown type, with the types known; members
// that are missing or of the wrong type; special tokens that do not exist.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/text/added_tokens.h"
#include "simile/text/decoder.h"
#include "simile/text/detail/model_tables.h"
#include "simile/text/normalizer.h"
#include "simile/text/post_processor.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/token_model.h"

namespace simile::detail {

// A JSON null gives a null pointer (no such step).
std::unique_ptr<const Normalizer> make_normalizer(const Json& json, const std::string& source);
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json, const std::string& source);
// `tables` holds what model_streams() took out of the JSON, and is used up. The model's ids must be
// below its size plus `added`, the number of added tokens.
std::unique_ptr<const TokenModel> make_model(const Json& json, ModelTables& tables, int64_t added,
                                             const std::string& source);
// Ids in the templates must be below `vocabulary_size`. A JSON null gives bare templates.
PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source);
// A JSON null gives a null pointer: tokens with spaces between. What is not known, or not as
// expected, is told when it decodes.
std::unique_ptr<const Decoder> make_decoder(const Json& json, const std::string& source);
// The names in each table, for tokenizer_components.h.
std::vector<std::string> normalizer_names();
std::vector<std::string> pre_tokenizer_names();
std::vector<std::string> model_names();
std::vector<std::string> post_processor_names();
std::vector<std::string> decoder_names();

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source);

}  // namespace simile::detail
