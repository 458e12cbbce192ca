// SPDX-License-Identifier: Apache-2.0
// The module of a static encoder in a model folder, 0_StaticEmbedding: the table (static_weights.h)
// beside the tokenizer. Where all tokens count the same it is sentence-transformers'
// StaticEmbedding; else it is simile.StaticEmbedding, which only Simile reads, so that nobody gets
// other vectors of the same folder without noticing, with
//
//   0_StaticEmbedding/config.json   {"saturation": 0.5, "half_position": 64.0}
//
// of simile/kernel/token_weights.h. Errors (ErrorKind::kInput) name file and key: one that is not
// known or absurd.
#pragma once

#include <string>

#include "simile/model/encoder_config.h"

namespace simile::detail {

inline constexpr const char* kStaticFolder = "0_StaticEmbedding";
inline constexpr const char* kTokenWeights = "config.json";

void read_token_weights(const std::string& path, EncoderConfig& config);
std::string token_weights_to_json(const EncoderConfig& config);

}  // namespace simile::detail
