// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_family.h"

#include "simile/model/detail/family_config.h"

namespace simile {
namespace {

using Renames = std::vector<std::pair<std::string, std::string>>;

Renames distilbert_names() {
  return {{"encoder.layer.", "transformer.layer."},
          {"attention.self.query", "attention.q_lin"},
          {"attention.self.key", "attention.k_lin"},
          {"attention.self.value", "attention.v_lin"},
          {"attention.output.dense", "attention.out_lin"},
          {"attention.output.LayerNorm", "sa_layer_norm"},
          {"intermediate.dense", "ffn.lin1"},
          {".output.dense", ".ffn.lin2"},
          {".output.LayerNorm", ".output_layer_norm"}};
}

EncoderKeys distilbert_keys() {
  EncoderKeys keys;
  keys.layers = "n_layers";
  keys.hidden = "dim";
  keys.heads = "n_heads";
  keys.intermediate = "hidden_dim";
  keys.types = keys.layer_norm_eps = "";
  keys.hidden_dropout = "dropout";
  keys.attention_dropout = "attention_dropout";
  keys.activation = "activation";
  return keys;
}

Renames mpnet_names() {
  return {{"attention.self.query", "attention.attn.q"},
          {"attention.self.key", "attention.attn.k"},
          {"attention.self.value", "attention.attn.v"},
          {"attention.output.dense", "attention.attn.o"},
          {"attention.output.LayerNorm", "attention.LayerNorm"}};
}

EncoderKeys mpnet_keys() {
  EncoderKeys keys;
  keys.types = "";
  return keys;
}

Renames albert_names() {
  return {{"embeddings_project", "encoder.embedding_hidden_mapping_in"},
          {"encoder.layer.0.", "encoder.albert_layer_groups.0.albert_layers.0."},
          {"attention.self.", "attention."},
          {"attention.output.dense", "attention.dense"},
          {"attention.output.LayerNorm", "attention.LayerNorm"},
          {"intermediate.dense", "ffn"},
          {".output.dense", ".ffn_output"},
          {".output.LayerNorm", ".full_layer_layer_norm"}};
}

Renames modernbert_names() {
  return {{"embeddings.word_embeddings", "embeddings.tok_embeddings"},
          {"embeddings.LayerNorm", "embeddings.norm"},
          {"encoder.layer.", "layers."},
          {"attention.self.qkv", "attn.Wqkv"},
          {"attention.output.dense", "attn.Wo"},
          {"attention.output.LayerNorm", "attn_norm"},
          {"intermediate.gate_value", "mlp.Wi"},
          {".output.dense", ".mlp.Wo"},
          {".output.LayerNorm", ".mlp_norm"}};
}

EncoderKeys modernbert_keys() {
  EncoderKeys keys;
  keys.types = "";
  keys.layer_norm_eps = "norm_eps";
  keys.hidden_dropout = "mlp_dropout";
  keys.attention_dropout = "attention_dropout";
  keys.embedding_dropout = "embedding_dropout";
  keys.activation = "hidden_activation";
  return keys;
}

// Of the two products of a gated network, fc12's goes through the activation.
Renames nomic_names() {
  return {{"embeddings.LayerNorm", "emb_ln"},      {"encoder.layer.", "encoder.layers."},
          {"attention.self.qkv", "attn.Wqkv"},     {"attention.output.dense", "attn.out_proj"},
          {"attention.output.LayerNorm", "norm1"}, {"intermediate.gate", "mlp.fc12"},
          {"intermediate.value", "mlp.fc11"},      {"intermediate.dense", "mlp.fc1"},
          {".output.dense", ".mlp.fc2"},           {".output.LayerNorm", ".norm2"}};
}

EncoderKeys nomic_keys() {
  EncoderKeys keys;
  keys.layers = "n_layer";
  keys.hidden = "n_embd";
  keys.heads = "n_head";
  keys.intermediate = "n_inner";
  keys.positions = "n_positions";
  keys.layer_norm_eps = "layer_norm_epsilon";
  keys.hidden_dropout = "resid_pdrop";
  keys.attention_dropout = "attn_pdrop";
  keys.activation = "";
  return keys;
}

const std::vector<EncoderFamily>& families() {
  using namespace detail;
  static const std::vector<EncoderFamily> rows = {
      {"bert", "BertModel", "bert.", {}, {}, read_bert_variant},
      {"roberta", "RobertaModel", "roberta.", {}, {}, read_roberta_variant, 1},
      {"xlm-roberta", "XLMRobertaModel", "roberta.", {}, {}, read_roberta_variant, 1},
      {"camembert", "CamembertModel", "roberta.", {}, {}, read_roberta_variant, 1},
      {"distilbert", "DistilBertModel", "distilbert.", distilbert_names(), distilbert_keys(),
       read_distilbert_variant},
      {"mpnet", "MPNetModel", "mpnet.", mpnet_names(), mpnet_keys(), read_mpnet_variant, 1},
      {"electra", "ElectraModel", "electra.", {}, {}, read_electra_variant},
      {"albert",
       "AlbertModel",
       "albert.",
       albert_names(),
       {},
       read_albert_variant,
       0,
       1e-12,
       0.0,
       "gelu_new"},
      {"modernbert", "ModernBertModel", "model.", modernbert_names(), modernbert_keys(),
       read_modernbert_variant, 50283, 1e-5, 0.0},
      {"nomic_bert", "NomicBertModel", "bert.", nomic_names(), nomic_keys(), read_nomic_variant, 0,
       1e-12, 0.0},
  };
  return rows;
}

// Of simile/kernel/static_encoder.h, under the names of sentence-transformers' StaticEmbedding.
const EncoderFamily& static_family() {
  static const EncoderFamily family = {
      "static", "", "", {{"embeddings.word_embeddings", "embedding"}}, {}, nullptr};
  return family;
}

}  // namespace

const EncoderFamily* find_encoder_family(const std::string& model_type) {
  if (model_type == static_family().model_type) return &static_family();
  for (const EncoderFamily& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::vector<std::string> encoder_family_names() {
  std::vector<std::string> names;
  for (const EncoderFamily& family : families()) names.push_back(family.model_type);
  return names;
}

std::vector<std::string> encoder_activation_names() { return detail::activation_names(); }

std::string family_tensor_name(const EncoderFamily& family, const std::string& bert_name) {
  std::string name = bert_name;
  for (const auto& [from, to] : family.renames) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name;
}

bool is_head_tensor(const std::string& name) {
  constexpr const char* kBeginnings[] = {"pooler.",
                                         "cls.",
                                         "classifier.",
                                         "pre_classifier.",
                                         "lm_head.",
                                         "head.",
                                         "decoder.",
                                         "qa_outputs.",
                                         "predictions.",
                                         "sop_classifier.",
                                         "generator_predictions.",
                                         "generator_lm_head.",
                                         "discriminator_predictions.",
                                         "vocab_transform.",
                                         "vocab_layer_norm.",
                                         "vocab_projector."};
  for (const char* beginning : kBeginnings) {
    if (name.rfind(beginning, 0) == 0) return true;
  }
  return false;
}

}  // namespace simile
