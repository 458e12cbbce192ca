// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_config.h"

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/model/encoder_family.h"

namespace simile {
namespace {

// Far above any encoder in use; no product of two overflows or exhausts memory unnoticed.
constexpr int64_t kMostLayers = 1024;
constexpr int64_t kWidest = 65536;
constexpr int64_t kMostRows = 16777216;
constexpr int64_t kMostNumbers = int64_t{1} << 36;

// The sizes that all families have, each with its bounds.
struct SizeRow {
  std::string EncoderKeys::*key;
  int64_t EncoderConfig::*size;
  int64_t most;
};
constexpr SizeRow kSizes[] = {
    {&EncoderKeys::layers, &EncoderConfig::layers, kMostLayers},
    {&EncoderKeys::hidden, &EncoderConfig::hidden, kWidest},
    {&EncoderKeys::heads, &EncoderConfig::heads, kWidest},
    {&EncoderKeys::intermediate, &EncoderConfig::intermediate, kWidest * 4},
    {&EncoderKeys::vocabulary, &EncoderConfig::vocabulary, kMostRows},
    {&EncoderKeys::positions, &EncoderConfig::positions, kMostRows}};

const EncoderFamily& known_family(const std::string& model_type, const std::string& source,
                                  const char* remark = "") {
  const EncoderFamily* family = find_encoder_family(model_type);
  SIMILE_CHECK(family != nullptr && family->read_variant != nullptr, ErrorKind::kInput,
               "{}: \"model_type\" is \"{}\"{}; known: {}", source, model_type, remark,
               fmt::join(encoder_family_names(), ", "));
  return *family;
}

}  // namespace

EncoderShape EncoderConfig::shape() const {
  EncoderShape s;
  static_cast<EncoderVariant&>(s) = variant;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = heads;
  s.intermediate = intermediate;
  s.vocabulary = vocabulary;
  s.positions = positions;
  s.types = types;
  s.layer_norm_eps = static_cast<float>(layer_norm_eps);
  return s;
}

EncoderDropout EncoderConfig::dropout() const {
  EncoderDropout dropout;
  dropout.hidden = static_cast<float>(hidden_dropout);
  dropout.attention = static_cast<float>(attention_dropout);
  dropout.embedding = static_cast<float>(embedding_dropout);
  // ModernBERT: what attention gives falls as often as what it takes.
  if (variant.inner_dropout) dropout.attended = dropout.attention;
  return dropout;
}

EncoderConfig static_encoder_config(int64_t vocabulary, int64_t hidden, const std::string& source) {
  EncoderConfig c;
  c.model_type = "static";
  c.variant.averaged = true;
  c.vocabulary = vocabulary;
  c.hidden = hidden;
  c.positions = kMostRows;
  c.types = 0;
  c.hidden_dropout = c.attention_dropout = 0;
  check_encoder_config(c, source);
  return c;
}

void check_encoder_config(const EncoderConfig& c, const std::string& source) {
  const auto check_size = [&](const std::string& key, int64_t value, int64_t most) {
    SIMILE_CHECK(value >= 1 && value <= most, ErrorKind::kInput,
                 "{}: \"{}\" is {}; expected 1 to {}", source, key, value, most);
  };
  if (c.variant.averaged) {
    check_size("hidden_size", c.hidden, kWidest);
    check_size("vocab_size", c.vocabulary, kMostRows);
    return;
  }
  const EncoderKeys& keys = known_family(c.model_type, source).keys;
  const EncoderShape s = c.shape();
  for (const SizeRow& row : kSizes) check_size(keys.*row.key, c.*row.size, row.most);
  check_size("embedding_size", s.embedding_size(), kWidest);
  if (!keys.types.empty() && c.types != 0) check_size(keys.types, c.types, 1024);
  SIMILE_CHECK(c.hidden % c.heads == 0, ErrorKind::kInput,
               "{}: \"{}\" {} is not a multiple of \"{}\" {}", source, keys.hidden, c.hidden,
               keys.heads, c.heads);
  SIMILE_CHECK(s.has_position_table() || s.head_size() % 2 == 0, ErrorKind::kInput,
               "{}: \"{}\" {} makes heads of {} numbers; rotary positions need an even number",
               source, keys.heads, c.heads, s.head_size());
  SIMILE_CHECK(s.longest_sequence() > 0, ErrorKind::kInput,
               "{}: \"{}\" is {}, but the first token's position is {}", source, keys.positions,
               c.positions, s.position_offset);
  const int64_t layer = 4 * c.hidden * c.hidden + c.hidden * (s.up_size() + c.intermediate);
  const int64_t numbers = c.layers * layer + (c.vocabulary + c.positions) * s.embedding_size();
  SIMILE_CHECK(numbers <= kMostNumbers, ErrorKind::kInput,
               "{}: its sizes describe {} weights; at most {} are accepted", source, numbers,
               kMostNumbers);
}

EncoderConfig parse_encoder_config(const std::string& text, const std::string& source) {
  detail::Json parsed = detail::parse_json(text, source);
  EncoderConfig c;
  c.model_type = detail::JsonObject(parsed, source).text("model_type");
  const bool writes_text = text.find("ForCausalLM\"") != text.npos;
  const EncoderFamily& family =
      known_family(c.model_type, source, writes_text ? ", a decoder, which writes text" : "");
  c.document = text;
  if (family.add_keys != nullptr) {
    c.document = family.add_keys(text);
    parsed = detail::parse_json(c.document, source);
  }
  const detail::JsonObject json(parsed, source);
  SIMILE_CHECK(!json.has("quantization_config"), ErrorKind::kInput,
               "{}: \"quantization_config\" is set, but weights quantised by other programs are "
               "not read; take the model in fp32 or fp16",
               source);
  const EncoderKeys& keys = family.keys;
  const auto number = [&](const std::string& key, double fallback, double least) {
    return key.empty() ? fallback : json.number_or(key.c_str(), fallback, least, 1.0);
  };
  for (const SizeRow& row : kSizes) {
    c.*row.size = json.integer((keys.*row.key).c_str(), 1, row.most);
  }
  c.types = keys.types.empty() ? 0 : json.integer_or(keys.types.c_str(), 2, 0, 1024);
  c.layer_norm_eps = number(keys.layer_norm_eps, family.layer_norm_eps, 1e-30);
  c.hidden_dropout = number(keys.hidden_dropout, family.dropout, 0.0);
  c.attention_dropout = number(keys.attention_dropout, family.dropout, 0.0);
  if (!keys.embedding_dropout.empty()) {
    c.embedding_dropout = number(keys.embedding_dropout, family.dropout, 0.0);
  }
  c.pad_token_id = json.integer_or("pad_token_id", family.pad_token_id, 0, kMostRows);
  if (!keys.activation.empty()) {
    c.variant.activation = parse_activation(
        json.text_or(keys.activation.c_str(), family.activation), keys.activation, source);
  }
  family.read_variant(json, c);
  SIMILE_CHECK(c.pad_token_id < c.vocabulary || !json.has("pad_token_id"), ErrorKind::kInput,
               "{}: \"pad_token_id\" must be below \"vocab_size\" {}, but it is {}", source,
               c.vocabulary, c.pad_token_id);
  check_encoder_config(c, source);
  return c;
}

EncoderConfig read_encoder_config(const std::string& path) {
  return parse_encoder_config(read_file(path), path);
}

std::string encoder_config_to_json(const EncoderConfig& c) {
  constexpr const char* kSource = "encoder config";
  if (c.variant.averaged) {
    return detail::dump_json({{"model_type", c.model_type},
                              {"hidden_size", c.hidden},
                              {"vocab_size", c.vocabulary}}) +
           "\n";
  }
  const EncoderFamily& family = known_family(c.model_type, kSource);
  SIMILE_CHECK(
      !c.document.empty() || c.model_type == "bert", ErrorKind::kInput,
      "{}: one of \"model_type\" \"{}\" can only be saved when it was read from a config.json",
      kSource, c.model_type);
  const EncoderKeys& keys = family.keys;
  detail::Json json = c.document.empty()
                          ? detail::Json{{"hidden_act", activation_name(c.variant.activation)},
                                         {"initializer_range", 0.02},
                                         {"position_embedding_type", "absolute"}}
                          : detail::parse_json(c.document, kSource);
  const auto set = [&json](const std::string& key, const auto& value) {
    if (!key.empty()) json[key] = value;
  };
  set("architectures", detail::Json::array({family.architecture}));
  set("model_type", c.model_type);
  for (const SizeRow& row : kSizes) set(keys.*row.key, c.*row.size);
  set(keys.types, c.types);
  set(keys.layer_norm_eps, c.layer_norm_eps);
  set(keys.hidden_dropout, c.hidden_dropout);
  set(keys.attention_dropout, c.attention_dropout);
  set(keys.embedding_dropout, c.embedding_dropout < 0 ? c.hidden_dropout : c.embedding_dropout);
  if (c.pad_token_id < c.vocabulary) set("pad_token_id", c.pad_token_id);
  const bool has_newer = json.contains("dtype");
  if (has_newer) set("dtype", "float32");
  if (!has_newer || json.contains("torch_dtype")) set("torch_dtype", "float32");
  return detail::dump_json(json) + "\n";
}

}  // namespace simile
