// SPDX-License-Identifier: Apache-2.0
// What a sentence-transformers folder says besides the weights: how tokens become one vector.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simile/checkpoint/encoder_config.h"

namespace simile {

enum class PoolingMode { kCls, kMean, kMax };

std::string pooling_mode_name(PoolingMode mode);          // "cls", "mean", "max"
PoolingMode parse_pooling_mode(const std::string& name);  // ErrorKind::kRecipe names the choices

struct ModelSettings {
  EncoderConfig encoder;
  PoolingMode pooling = PoolingMode::kMean;
  bool normalize = true;                       // each vector is divided by its L2 norm
  int64_t max_length = 512;                    // tokens per text, special tokens included
  std::map<std::string, std::string> prompts;  // name -> text put before the input
  std::string default_prompt;                  // a name in `prompts`, or empty
  std::string similarity = "cosine";           // cosine, dot, euclidean or manhattan
  std::map<std::string, double> temperatures;  // trained ones, by the loss they belong to
  int64_t dimensions = 0;                      // leading dimensions kept; 0 keeps all
};

}  // namespace simile
