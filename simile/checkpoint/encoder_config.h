// SPDX-License-Identifier: Apache-2.0
// The part of a Hugging Face config.json that decides what an encoder computes.
//
// Errors (ErrorKind::kInput) name file and key: a missing or absurd size, heads that do not divide
// the hidden size, an activation, position embedding or model family that is not known. Nothing is
// replaced by a silent default that would change the numbers.
#pragma once

#include <cstdint>
#include <string>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct EncoderConfig {
  std::string model_type = "bert";
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t intermediate = 0;
  int64_t vocabulary = 0;
  int64_t positions = 512;  // rows of the position table
  int64_t types = 2;
  double layer_norm_eps = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  int64_t pad_token_id = 0;

  EncoderShape shape() const;
};

EncoderConfig read_encoder_config(const std::string& path);
EncoderConfig parse_encoder_config(const std::string& json, const std::string& source);

// Checks what parse_encoder_config() checks, for a config made by hand.
void check_encoder_config(const EncoderConfig& config, const std::string& source);

// A config.json that transformers and parse_encoder_config() read. `torch_dtype`: how the weights
// beside it are stored, as torch names it; it does not change what the encoder computes.
std::string encoder_config_to_json(const EncoderConfig& config,
                                   const std::string& torch_dtype = "float32");

}  // namespace simile
