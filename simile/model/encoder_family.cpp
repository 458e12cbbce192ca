// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_family.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/model/detail/folder_config.h"
#include "simile/model/encoder_config.h"

namespace simile {
namespace {

using detail::describe_json;
using detail::Json;
using detail::JsonObject;

struct NamedActivation {
  const char* name;
  Activation activation;
};
// The first name of each is the one written.
constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::kGelu},          {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},  {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_accurate", Activation::kGeluTanh},
    {"relu", Activation::kRelu},          {"silu", Activation::kSilu},
    {"swish", Activation::kSilu}};

// --- What each family's config.json says beyond the sizes that all have ---
//
// Errors (kInput) name the key whose value asks for what the encoder does not compute.

constexpr int64_t kWidest = 65536;

// A key that may have one value only, absent being that value or `fallback`.
void check_flag(const JsonObject& json, const char* key, bool only) {
  SIMILE_CHECK(json.flag_or(key, only) == only, ErrorKind::kInput,
               "{}: \"{}\" is {}; only {} is supported", json.source(), key, !only, only);
}
void check_absent(const JsonObject& json, const char* key) {
  SIMILE_CHECK(!json.has(key), ErrorKind::kInput, "{}: \"{}\" is {}; only null is supported",
               json.source(), key, describe_json(json.at(key)));
}
void check_number(const JsonObject& json, const char* key, double only, double fallback) {
  const double value = json.number_or(key, fallback, -1e300, 1e300);
  SIMILE_CHECK(value == only, ErrorKind::kInput, "{}: \"{}\" is {}; only {} is supported",
               json.source(), key, value, only);
}

// Checks shared by the families of the transformers library that use BERT's keys.
void check_encoder_only(const JsonObject& json) {
  detail::check_text(json, "position_embedding_type", "absolute");
  SIMILE_CHECK(!json.flag_or("is_decoder", false), ErrorKind::kInput,
               "{}: \"is_decoder\" is true; only encoders are supported", json.source());
}

float read_base(const JsonObject& json, const char* key, double fallback) {
  return static_cast<float>(json.number_or(key, fallback, 1.0, 1e12));
}

// rope_parameters: {"full_attention": {"rope_type": "default", "rope_theta": 160000.0}, ...}
float read_rope(const JsonObject& json, const char* layer_type, const char* old_key,
                double fallback) {
  const float old = read_base(json, old_key, fallback);
  if (!json.has("rope_parameters")) return old;
  const std::string source = json.source() + ": \"rope_parameters\"";
  const JsonObject types(json.at("rope_parameters"), source);
  detail::check_keys(types.json(), source, {"full_attention", "sliding_attention"});
  if (!types.has(layer_type)) return old;
  const std::string inner = fmt::format("{} of \"{}\"", source, layer_type);
  const JsonObject rope(types.at(layer_type), inner);
  detail::check_text(rope, "rope_type", "default");
  return read_base(rope, "rope_theta", old);
}

// Every how many layers one is global, of ["full_attention", "sliding_attention", ...].
int64_t read_layer_types(const JsonObject& json, int64_t layers, int64_t fallback) {
  if (!json.has("layer_types")) return fallback;
  const Json& types = json.at("layer_types");
  std::vector<int64_t> global;
  bool known = types.is_array() && static_cast<int64_t>(types.size()) == layers;
  for (size_t i = 0; known && i < types.size(); ++i) {
    if (types[i] == "full_attention") global.push_back(static_cast<int64_t>(i));
    known = types[i] == "full_attention" || types[i] == "sliding_attention";
  }
  // With layer 0 alone global, any number from `layers` on says so.
  const int64_t every = global.size() > 1 ? global[1] : std::max<int64_t>(layers, 1);
  for (int64_t i = 0; known && i < layers; ++i) {
    known = (i % every == 0) == (std::count(global.begin(), global.end(), i) > 0);
  }
  SIMILE_CHECK(known, ErrorKind::kInput,
               "{}: \"layer_types\" must say \"full_attention\" for layer 0 and every n-th from "
               "there, and \"sliding_attention\" for the others of the {} layers",
               json.source(), layers);
  return every;
}

// --- The families ---

// RoBERTa (Liu et al. 2019), XLM-R and CamemBERT: positions count from behind the padding token's.
void read_roberta_variant(const JsonObject& json, EncoderConfig& config) {
  check_encoder_only(json);
  config.variant.position_offset = config.pad_token_id + 1;
}

EncoderFamily distilbert() {
  EncoderFamily family = {"distilbert", "DistilBertModel", "distilbert."};
  family.renames = {{"encoder.layer.", "transformer.layer."},
                    {"attention.self.query", "attention.q_lin"},
                    {"attention.self.key", "attention.k_lin"},
                    {"attention.self.value", "attention.v_lin"},
                    {"attention.output.dense", "attention.out_lin"},
                    {"attention.output.LayerNorm", "sa_layer_norm"},
                    {"intermediate.dense", "ffn.lin1"},
                    {".output.dense", ".ffn.lin2"},
                    {".output.LayerNorm", ".output_layer_norm"}};
  EncoderKeys& keys = family.keys;
  keys.layers = "n_layers";
  keys.hidden = "dim";
  keys.heads = "n_heads";
  keys.intermediate = "hidden_dim";
  keys.types = keys.layer_norm_eps = "";
  keys.hidden_dropout = "dropout";
  keys.attention_dropout = "attention_dropout";
  keys.activation = "activation";
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    // Checkpoints hold the position table also when it was filled with sines.
    json.flag_or("sinusoidal_pos_embds", false);
    config.variant.attended_dropout = false;
  };
  return family;
}

EncoderFamily mpnet() {
  EncoderFamily family = {"mpnet", "MPNetModel", "mpnet."};
  family.renames = {{"attention.self.query", "attention.attn.q"},
                    {"attention.self.key", "attention.attn.k"},
                    {"attention.self.value", "attention.attn.v"},
                    {"attention.output.dense", "attention.attn.o"},
                    {"attention.output.LayerNorm", "attention.LayerNorm"}};
  family.keys.types = "";
  family.pad_token_id = 1;
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    check_encoder_only(json);
    config.variant.position_offset = 2;  // whatever the config's padding token
    // Rows of a table; only its first 32 are ever used.
    config.variant.relative_buckets =
        json.integer_or("relative_attention_num_buckets", 32, 32, 256);
  };
  return family;
}

int64_t read_embedding_size(const JsonObject& json) {
  return json.integer_or("embedding_size", 128, 1, kWidest);
}

EncoderFamily electra() {
  EncoderFamily family = {"electra", "ElectraModel", "electra."};
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    check_encoder_only(json);
    config.variant.embedding = read_embedding_size(json);
    config.variant.projected = config.variant.embedding != config.hidden;
  };
  return family;
}

EncoderFamily albert() {
  EncoderFamily family = {"albert", "AlbertModel", "albert."};
  family.renames = {{"embeddings_project", "encoder.embedding_hidden_mapping_in"},
                    {"encoder.layer.0.", "encoder.albert_layer_groups.0.albert_layers.0."},
                    {"attention.self.", "attention."},
                    {"attention.output.dense", "attention.dense"},
                    {"attention.output.LayerNorm", "attention.LayerNorm"},
                    {"intermediate.dense", "ffn"},
                    {".output.dense", ".ffn_output"},
                    {".output.LayerNorm", ".full_layer_layer_norm"}};
  family.dropout = 0;
  family.activation = "gelu_new";
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    check_encoder_only(json);
    check_number(json, "num_hidden_groups", 1, 1);
    check_number(json, "inner_group_num", 1, 1);
    config.variant.embedding = read_embedding_size(json);
    config.variant.projected = true;
    config.variant.shared_layers = true;
    config.variant.output_dropout = false;
  };
  return family;
}

EncoderFamily modernbert() {
  EncoderFamily family = {"modernbert", "ModernBertModel", "model."};
  family.renames = {{"embeddings.word_embeddings", "embeddings.tok_embeddings"},
                    {"embeddings.LayerNorm", "embeddings.norm"},
                    {"encoder.layer.", "layers."},
                    {"attention.self.qkv", "attn.Wqkv"},
                    {"attention.output.dense", "attn.Wo"},
                    {"attention.output.LayerNorm", "attn_norm"},
                    {"intermediate.gate_value", "mlp.Wi"},
                    {".output.dense", ".mlp.Wo"},
                    {".output.LayerNorm", ".mlp_norm"}};
  EncoderKeys& keys = family.keys;
  keys.types = "";
  keys.layer_norm_eps = "norm_eps";
  keys.hidden_dropout = "mlp_dropout";
  keys.attention_dropout = "attention_dropout";
  keys.embedding_dropout = "embedding_dropout";
  keys.activation = "hidden_activation";
  family.pad_token_id = 50283;
  family.layer_norm_eps = 1e-5;
  family.dropout = 0;
  // Both spellings: global_rope_theta, local_rope_theta and global_attn_every_n_layers, or
  // rope_parameters and layer_types.
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    check_absent(json, "rope_scaling");
    EncoderVariant& v = config.variant;
    v.pre_norm = v.gated = v.fused_qkv = v.fused_gate = true;
    v.norm_bias = json.flag_or("norm_bias", false);
    v.attention_bias = json.flag_or("attention_bias", false);
    v.up_bias = v.down_bias = json.flag_or("mlp_bias", false);
    v.rotary_base = read_rope(json, "full_attention", "global_rope_theta", 160000.0);
    const double local_base = json.is_null("local_rope_theta") ? v.rotary_base : 10000.0;
    v.local_rotary_base = read_rope(json, "sliding_attention", "local_rope_theta", local_base);
    v.local_window = json.integer_or("local_attention", 128, 2, int64_t{1} << 30) / 2;
    v.local_window = json.integer_or("sliding_window", v.local_window, 1, int64_t{1} << 29);
    v.global_every = read_layer_types(json, config.layers,
                                      json.integer_or("global_attn_every_n_layers", 3, 1, 1024));
    v.inner_dropout = true;
    v.output_dropout = false;
  };
  return family;
}

// The keys that transformers 5 writes, as the model's own code spells them: there, the network is
// gated and has no biases.
std::string add_nomic_keys(const std::string& document) {
  Json config = detail::parse_json(document, "config.json");
  if (config.contains("n_layer") || !config.contains("num_hidden_layers")) return document;
  constexpr std::pair<const char*, const char*> kSame[] = {
      {"num_hidden_layers", "n_layer"},           {"hidden_size", "n_embd"},
      {"num_attention_heads", "n_head"},          {"intermediate_size", "n_inner"},
      {"max_position_embeddings", "n_positions"}, {"layer_norm_eps", "layer_norm_epsilon"},
      {"hidden_dropout_prob", "resid_pdrop"},     {"attention_probs_dropout_prob", "attn_pdrop"}};
  for (const auto& [key, own] : kSame) {
    if (config.contains(key)) config[own] = config[key];
  }
  const Json activation = config.value("hidden_act", Json("silu"));
  config["activation_function"] = activation == "silu"   ? Json("swiglu")
                                  : activation == "gelu" ? Json("geglu")
                                                         : activation;
  const Json rope = config.value("rope_parameters", Json());
  const bool has_base = rope.is_object() && rope.contains("rope_theta");
  config["rotary_emb_base"] = has_base ? rope["rope_theta"] : Json(1000.0);
  config["rotary_emb_fraction"] = 1.0;
  for (const char* bias : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) config[bias] = false;
  return detail::dump_json(config);
}

// Its keys are those of the model's own code.
EncoderFamily nomic() {
  EncoderFamily family = {"nomic_bert", "NomicBertModel", "bert."};
  // In a gated network with two products, that of fc12 goes through the activation.
  family.renames = {
      {"embeddings.LayerNorm", "emb_ln"},      {"encoder.layer.", "encoder.layers."},
      {"attention.self.qkv", "attn.Wqkv"},     {"attention.output.dense", "attn.out_proj"},
      {"attention.output.LayerNorm", "norm1"}, {"intermediate.gate", "mlp.fc12"},
      {"intermediate.value", "mlp.fc11"},      {"intermediate.dense", "mlp.fc1"},
      {".output.dense", ".mlp.fc2"},           {".output.LayerNorm", ".norm2"}};
  EncoderKeys& keys = family.keys;
  keys.layers = "n_layer";
  keys.hidden = "n_embd";
  keys.heads = "n_head";
  keys.intermediate = "n_inner";
  keys.positions = "n_positions";
  keys.layer_norm_eps = "layer_norm_epsilon";
  keys.hidden_dropout = "resid_pdrop";
  keys.attention_dropout = "attn_pdrop";
  keys.activation = "";
  family.dropout = 0;
  family.add_keys = add_nomic_keys;
  family.read_variant = [](const JsonObject& json, EncoderConfig& config) {
    if (json.has("rope_parameters")) {
      const std::string source = json.source() + ": \"rope_parameters\"";
      const JsonObject rope(json.at("rope_parameters"), source);
      detail::check_keys(rope.json(), source, {"rope_type", "rope_theta"});
      detail::check_text(rope, "rope_type", "default");
    }
    if (json.has("head_dim")) {
      const int64_t size = config.hidden / config.heads;
      check_number(json, "head_dim", static_cast<double>(size), 0);
    }
    for (const char* key : {"prenorm", "causal", "use_rms_norm", "parallel_block",
                            "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx"}) {
      check_flag(json, key, false);
    }
    check_flag(json, "scale_attn_weights", true);
    check_number(json, "rotary_emb_fraction", 1, 0);
    check_absent(json, "rotary_emb_scale_base");
    check_absent(json, "rotary_scaling_factor");
    check_number(json, "moe_every_n_layers", 0, 0);
    EncoderVariant& v = config.variant;
    v.rotary_base = read_base(json, "rotary_emb_base", 10000.0);
    v.fused_qkv = true;
    v.attention_bias = json.flag_or("qkv_proj_bias", true);
    v.up_bias = json.flag_or("mlp_fc1_bias", true);
    v.down_bias = json.flag_or("mlp_fc2_bias", true);
    // Its code computes gelu by erf for every name but the gated ones.
    constexpr const char* kNames[] = {"gelu",   "gelu_new", "gelu_fast", "gelu_pytorch_tanh",
                                      "swiglu", "geglu"};
    const std::string activation = json.text_or("activation_function", "gelu");
    SIMILE_CHECK(std::count(std::begin(kNames), std::end(kNames), activation) > 0,
                 ErrorKind::kInput,
                 "{}: \"activation_function\" is \"{}\", which is not supported; known: {}",
                 json.source(), activation, fmt::join(kNames, ", "));
    v.gated = activation == "swiglu" || activation == "geglu";
    v.activation = activation == "swiglu" ? Activation::kSilu : Activation::kGelu;
    const auto rounded = [](int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; };
    // transformers writes the size itself.
    const bool is_exact = json.has("intermediate_size");
    if (v.gated && !is_exact) config.intermediate = rounded(config.intermediate, 256);
    config.vocabulary =
        rounded(config.vocabulary, json.integer_or("pad_vocab_size_multiple", 1, 1, kWidest));
  };
  return family;
}

const std::vector<EncoderFamily>& families() {
  static const std::vector<EncoderFamily> rows = {
      {"bert",
       "BertModel",
       "bert.",
       {},
       {},
       [](const JsonObject& json, EncoderConfig&) { check_encoder_only(json); }},
      {"roberta", "RobertaModel", "roberta.", {}, {}, read_roberta_variant, 1},
      {"xlm-roberta", "XLMRobertaModel", "roberta.", {}, {}, read_roberta_variant, 1},
      {"camembert", "CamembertModel", "roberta.", {}, {}, read_roberta_variant, 1},
      distilbert(),
      mpnet(),
      electra(),
      albert(),
      modernbert(),
      nomic()};
  return rows;
}

}  // namespace

const EncoderFamily* find_encoder_family(const std::string& model_type) {
  // See simile/kernel/sequence_encoders.h; the names are those of StaticEmbedding.
  static const EncoderFamily static_family = {
      "static", "", "", {{"embeddings.word_embeddings", "embedding"}}};
  if (model_type == static_family.model_type) return &static_family;
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

Activation parse_activation(const std::string& name, const std::string& key,
                            const std::string& source) {
  for (const NamedActivation& row : kActivations) {
    if (name == row.name) return row.activation;
  }
  throw_error(ErrorKind::kInput, "{}: \"{}\" is \"{}\", which is not supported; known: {}", source,
              key, name, fmt::join(encoder_activation_names(), ", "));
}

std::vector<std::string> encoder_activation_names() {
  std::vector<std::string> names;
  for (const NamedActivation& row : kActivations) names.emplace_back(row.name);
  return names;
}

std::string activation_name(Activation activation) {
  const auto* const row =
      std::find_if(std::begin(kActivations), std::end(kActivations),
                   [&](const NamedActivation& known) { return known.activation == activation; });
  return row->name;
}

std::string family_tensor_name(const EncoderFamily& family, const std::string& bert_name) {
  std::string name = bert_name;
  for (const auto& [from, to] : family.renames) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name;
}

bool is_head_tensor(const std::string& name) {
  constexpr std::string_view kHeads =
      "|pooler|cls|classifier|pre_classifier|lm_head|head|decoder|qa_outputs|predictions|sop_"
      "classifier|generator_predictions|generator_lm_head|discriminator_predictions|vocab_"
      "transform|vocab_layer_norm|vocab_projector|";
  const size_t dot = name.find('.');
  return dot != std::string::npos &&
         kHeads.find("|" + name.substr(0, dot) + "|") != std::string_view::npos;
}

}  // namespace simile
