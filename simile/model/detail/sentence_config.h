// SPDX-License-Identifier: Apache-2.0
// What sentence-transformers says about texts before they reach the encoder: length limit, lower
// case, prompts, and how vectors are compared.
//
// Errors (ErrorKind::kInput) name file, key and value: a key that is not known or that would change
// the numbers in a way that is not supported.
#pragma once

#include <string>

#include "simile/model/model_settings.h"

namespace simile::detail {

// max_length and lower_case from sentence_bert_config.json (or its namesakes of other families) and
// tokenizer_config.json in the encoder's folder.
void read_text_limits(const std::string& encoder_folder, ModelSettings& settings);

// Prompts, similarity and dimensions from config_sentence_transformers.json, where it exists.
void read_sentence_config(const std::string& path, ModelSettings& settings);

}  // namespace simile::detail
