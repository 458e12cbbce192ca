// SPDX-License-Identifier: Apache-2.0
// What differs between families of encoders, as data: one row per `model_type`.
//
// The kernel's parameter names (encoder_layout()) are BERT's. A row says how the family's
// checkpoints call the same tensors and which tensors of theirs play no part in embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simile {

struct EncoderFamily {
  std::string model_type;    // config.json: "bert"
  std::string architecture;  // config.json: "BertModel"
  std::string prefix;        // checkpoints of models with heads put it before every name: "bert."
  int64_t position_offset;   // the first token's row in the position table
  // BERT's part of a name and the family's: {"attention.self.query", "attention.q_lin"}.
  std::vector<std::pair<std::string, std::string>> renames;
  // Beginnings of names (after the prefix) that are no part of the encoder: "cls.", "pooler.".
  std::vector<std::string> ignored;
};

// The row of `model_type`, or null.
const EncoderFamily* find_encoder_family(const std::string& model_type);

std::vector<std::string> encoder_family_names();

// The family's name of a tensor of encoder_layout(), without prefix.
std::string family_tensor_name(const EncoderFamily& family, const std::string& bert_name);

}  // namespace simile
