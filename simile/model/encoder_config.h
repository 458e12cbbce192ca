// SPDX-License-Identifier: Apache-2.0
// The part of a Hugging Face config.json that decides what an encoder computes, for the families of
// encoder_family.h.
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
#include "simile/kernel/pooling.h"

namespace simile {

struct PartConfig;

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
  // Of a joined encoder, made by joined_encoder_config().
  std::vector<PartConfig> parts;
  int64_t closing_tokens = 0;  // that the tokenizer puts behind a text

  bool is_joined() const { return !parts.empty(); }
  // Nothing in it has attention: no special tokens are put around texts.
  bool is_static() const;

  EncoderShape shape() const;
  EncoderDropout dropout() const;  // the probabilities, at the family's places
};

struct PartConfig {
  EncoderConfig encoder;
  std::vector<PoolingMode> pooling;  // none: the encoder gives one state a sequence
  int64_t max_length = 0;            // tokens of a text that it sees, special ones included
  double weight = 1;                 // of its unit vector
};

constexpr double kLargestHalfPosition = 1e6;

// A static encoder (simile/kernel/sequence_encoders.h), which has no config.json: model_type
// "static", no dropout, texts of any length, every token with the same weight. Errors (kInput,
// naming `source`): absurd sizes.
EncoderConfig static_encoder_config(int64_t vocabulary, int64_t hidden, const std::string& source);

// Encoders side by side (simile/kernel/sequence_encoders.h): model_type "joined", sizes and dropout
// the largest of the parts' or what follows from them. Errors (kInput, naming `source`): fewer
// than two parts or absurdly many, a part that is joined itself, a weight that is not above 0, a
// part that sees too few tokens, and those of check_encoder_config() for each part.
EncoderConfig joined_encoder_config(std::vector<PartConfig> parts, int64_t closing_tokens,
                                    const std::string& source);

// Dropout of hidden states and of attention, also of every part.
void set_hidden_dropout(EncoderConfig& config, double probability);
void set_attention_dropout(EncoderConfig& config, double probability);

EncoderConfig read_encoder_config(const std::string& path);
EncoderConfig parse_encoder_config(const std::string& json, const std::string& source);

// Checks what parse_encoder_config() checks, for a config made by hand.
void check_encoder_config(const EncoderConfig& config, const std::string& source);

// A config.json that transformers and parse_encoder_config() read: that of the document with what
// may have changed since (sizes, dropout, padding token). Its "torch_dtype" is float32 however the
// weights are stored: transformers computes in the type that stands there, and Simile in floats. Of
// a static or joined encoder, a description of it that nobody reads back. Errors: kInput for a
// config of another family than BERT without a document.
std::string encoder_config_to_json(const EncoderConfig& config);

}  // namespace simile
