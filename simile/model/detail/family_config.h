// SPDX-License-Identifier: Apache-2.0
// What each family's config.json says beyond the sizes that all have: into config.variant and,
// where the family has a say in them, config.vocabulary, types and intermediate.
//
// Errors (ErrorKind::kInput) name the key whose value would change what the encoder computes in a
// way that it does not know.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/model/encoder_config.h"

namespace simile::detail {

// "gelu", "gelu_new" ... Errors: kInput for other names, naming `key`.
Activation parse_activation(const std::string& name, const std::string& key,
                            const std::string& source);
std::string activation_name(Activation activation);
std::vector<std::string> activation_names();

void read_bert_variant(const JsonObject& json, EncoderConfig& config);
// RoBERTa (Liu et al. 2019), XLM-R and CamemBERT: positions count from behind the padding token's.
void read_roberta_variant(const JsonObject& json, EncoderConfig& config);
void read_distilbert_variant(const JsonObject& json, EncoderConfig& config);
void read_mpnet_variant(const JsonObject& json, EncoderConfig& config);
void read_electra_variant(const JsonObject& json, EncoderConfig& config);
void read_albert_variant(const JsonObject& json, EncoderConfig& config);
// Both spellings: global_rope_theta, local_rope_theta and global_attn_every_n_layers, or
// rope_parameters and layer_types.
void read_modernbert_variant(const JsonObject& json, EncoderConfig& config);
// The keys of the model's own code (n_embd ...).
void read_nomic_variant(const JsonObject& json, EncoderConfig& config);

}  // namespace simile::detail
