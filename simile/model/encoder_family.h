// SPDX-License-Identifier: Apache-2.0
// The differences between families of encoders, as data: one row per `model_type`.
//
// The kernel's parameter names (encoder_layout()) are BERT's. A row says how the family's
// checkpoints call the same tensors, how its config.json calls the sizes, and which function reads
// the rest of that file into an EncoderVariant.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

namespace detail {
class JsonObject;
}
struct EncoderConfig;

// The keys of config.json for values that all families have. Empty: the family has no such key.
struct EncoderKeys {
  std::string layers = "num_hidden_layers";
  std::string hidden = "hidden_size";
  std::string heads = "num_attention_heads";
  std::string intermediate = "intermediate_size";
  std::string vocabulary = "vocab_size";
  std::string positions = "max_position_embeddings";
  std::string types = "type_vocab_size";
  std::string layer_norm_eps = "layer_norm_eps";
  std::string hidden_dropout = "hidden_dropout_prob";
  std::string attention_dropout = "attention_probs_dropout_prob";
  std::string embedding_dropout;
  std::string activation = "hidden_act";
};

struct EncoderFamily {
  std::string model_type;    // config.json: "bert"
  std::string architecture;  // config.json: "BertModel"
  std::string prefix;        // checkpoints of models with heads put it before every name: "bert."
  // BERT's part of a name and the family's: {"attention.self.query", "attention.q_lin"}. All apply.
  std::vector<std::pair<std::string, std::string>> renames = {};
  EncoderKeys keys = {};
  // Reads the family's own keys; `config` has the common ones. Null: it has no config.json.
  void (*read_variant)(const detail::JsonObject& json, EncoderConfig& config) = nullptr;
  int64_t pad_token_id = 0;  // where config.json does not say
  double layer_norm_eps = 1e-12;
  double dropout = 0.1;
  std::string activation = "gelu";
  // Pooling of a folder that names none: "mean", as sentence-transformers does for every family.
  std::string pooling = "mean";
  // The text of a config.json that spells them in another way, with `keys` added. Null: it has one
  // spelling.
  std::string (*add_keys)(const std::string& document) = nullptr;
};

// The row of `model_type`, or null.
const EncoderFamily* find_encoder_family(const std::string& model_type);

// Those with a config.json: "static" (model/static_weights.h) has none.
std::vector<std::string> encoder_family_names();

// Known values of "hidden_act" and its equivalents in other families: "gelu", "gelu_new" ......
std::vector<std::string> encoder_activation_names();
// Errors: kInput for other names, naming `key`.
Activation parse_activation(const std::string& name, const std::string& key,
                            const std::string& source);
std::string activation_name(Activation activation);

// The family's name of a tensor of encoder_layout(), without prefix.
std::string family_tensor_name(const EncoderFamily& family, const std::string& bert_name);

// Whether a tensor of this name (after the prefix) belongs to a head on top of the encoder, for
// pre-training or a task: "cls.predictions.bias", "pooler.dense.weight".
bool is_head_tensor(const std::string& name);

}  // namespace simile
