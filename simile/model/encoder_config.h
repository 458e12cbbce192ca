// SPDX-License-Identifier: Apache-2.0
// The part of a Hugging Face config.json that decides what an encoder (encoder_family.h) computes.
//
// Errors (kInput) name file and key: a missing or absurd size, heads that do not divide the hidden
// size, an activation, position embedding or model family that is not known. Keys that are absent
// have the value that the family's own code gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct EncoderConfig {
  std::string model_type = "bert";
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t intermediate = 0;
  int64_t vocabulary = 0;
  int64_t positions = 512;  // rows of the position table; rotary: longest sequence
  int64_t types = 2;        // 0: the family has none
  double layer_norm_eps = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double embedding_dropout = -1;  // below 0: as hidden_dropout
  int64_t pad_token_id = 0;
  EncoderVariant variant;  // by family
  std::string document;    // the config.json it was read from; empty: made by hand

  // A table without attention: no special tokens are put around texts.
  bool is_static() const { return variant.averaged; }

  EncoderShape shape() const;
  EncoderDropout dropout() const;  // the probabilities, at the family's places
};

// A static encoder (simile/kernel/sequence_encoders.h), which has no config.json: model_type
// "static", no dropout, texts of any length. Errors (kInput, naming `source`): absurd sizes.
EncoderConfig static_encoder_config(int64_t vocabulary, int64_t hidden, const std::string& source);

EncoderConfig read_encoder_config(const std::string& path);
EncoderConfig parse_encoder_config(const std::string& json, const std::string& source);

// Makes the checks of parse_encoder_config() for a config made by hand.
void check_encoder_config(const EncoderConfig& config, const std::string& source);

// A config.json that transformers and parse_encoder_config() read: the original document with the
// values that may have changed since (sizes, dropout, padding token). Its "torch_dtype" is float32
// however the weights are stored, because transformers computes in that type and Simile computes in
// floats. For a static encoder it is a description that nobody reads back. Errors: kInput
// for a config of another family than BERT without a document.
std::string encoder_config_to_json(const EncoderConfig& config);

}  // namespace simile
