// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/encoder_config.h"

#include <fmt/format.h>

#include "simile/checkpoint/encoder_family.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

// Far above any encoder in use, low enough that no product of two overflows or exhausts memory
// unnoticed.
constexpr int64_t kMostLayers = 1024;
constexpr int64_t kWidest = 65536;
constexpr int64_t kMostRows = 16777216;
constexpr int64_t kMostNumbers = int64_t{1} << 36;

void check_choice(const detail::JsonObject& json, const char* key, const std::string& only) {
  const std::string value = json.text_or(key, only);
  SIMILE_CHECK(value == only, ErrorKind::kInput,
               fmt::format("{}: \"{}\" is \"{}\"; only \"{}\" is supported", json.source(), key,
                           value, only));
}

}  // namespace

EncoderShape EncoderConfig::shape() const {
  EncoderShape s;
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

void check_encoder_config(const EncoderConfig& c, const std::string& source) {
  const auto check_size = [&](const char* key, int64_t value, int64_t most) {
    SIMILE_CHECK(value >= 1 && value <= most, ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}; expected 1 to {}", source, key, value, most));
  };
  check_size("num_hidden_layers", c.layers, kMostLayers);
  check_size("hidden_size", c.hidden, kWidest);
  check_size("num_attention_heads", c.heads, kWidest);
  check_size("intermediate_size", c.intermediate, kWidest * 4);
  check_size("vocab_size", c.vocabulary, kMostRows);
  check_size("max_position_embeddings", c.positions, kMostRows);
  check_size("type_vocab_size", c.types, 1024);
  SIMILE_CHECK(c.hidden % c.heads == 0, ErrorKind::kInput,
               fmt::format("{}: \"hidden_size\" {} is not a multiple of \"num_attention_heads\" {}",
                           source, c.hidden, c.heads));
  const int64_t layer = 4 * c.hidden * c.hidden + 2 * c.hidden * c.intermediate;
  const int64_t numbers = c.layers * layer + (c.vocabulary + c.positions) * c.hidden;
  SIMILE_CHECK(numbers <= kMostNumbers, ErrorKind::kInput,
               fmt::format("{}: its sizes describe {} weights; at most {} are accepted", source,
                           numbers, kMostNumbers));
  SIMILE_CHECK(find_encoder_family(c.model_type) != nullptr, ErrorKind::kInput,
               fmt::format("{}: \"model_type\" is \"{}\"; known: {}", source, c.model_type,
                           fmt::join(encoder_family_names(), ", ")));
}

EncoderConfig parse_encoder_config(const std::string& text, const std::string& source) {
  const detail::Json parsed = detail::parse_json(text, source);
  const detail::JsonObject json(parsed, source);
  EncoderConfig c;
  c.model_type = json.text("model_type");
  SIMILE_CHECK(find_encoder_family(c.model_type) != nullptr, ErrorKind::kInput,
               fmt::format("{}: \"model_type\" is \"{}\"; known: {}", source, c.model_type,
                           fmt::join(encoder_family_names(), ", ")));
  check_choice(json, "hidden_act", "gelu");
  check_choice(json, "position_embedding_type", "absolute");
  SIMILE_CHECK(!json.flag_or("is_decoder", false), ErrorKind::kInput,
               fmt::format("{}: \"is_decoder\" is true; only encoders are supported", source));
  c.layers = json.integer("num_hidden_layers", 1, kMostLayers);
  c.hidden = json.integer("hidden_size", 1, kWidest);
  c.heads = json.integer("num_attention_heads", 1, kWidest);
  c.intermediate = json.integer("intermediate_size", 1, kWidest * 4);
  c.vocabulary = json.integer("vocab_size", 1, kMostRows);
  c.positions = json.integer("max_position_embeddings", 1, kMostRows);
  c.types = json.integer_or("type_vocab_size", 2, 1, 1024);
  c.layer_norm_eps = json.number_or("layer_norm_eps", 1e-12, 1e-30, 1.0);
  c.hidden_dropout = json.number_or("hidden_dropout_prob", 0.1, 0.0, 1.0);
  c.attention_dropout = json.number_or("attention_probs_dropout_prob", 0.1, 0.0, 1.0);
  c.pad_token_id = json.integer_or("pad_token_id", 0, 0, c.vocabulary - 1);
  check_encoder_config(c, source);
  return c;
}

EncoderConfig read_encoder_config(const std::string& path) {
  return parse_encoder_config(read_file(path), path);
}

std::string encoder_config_to_json(const EncoderConfig& c, const std::string& torch_dtype) {
  const EncoderFamily* family = find_encoder_family(c.model_type);
  const detail::Json json = {
      {"architectures", {family != nullptr ? family->architecture : c.model_type}},
      {"attention_probs_dropout_prob", c.attention_dropout},
      {"hidden_act", "gelu"},
      {"hidden_dropout_prob", c.hidden_dropout},
      {"hidden_size", c.hidden},
      {"initializer_range", 0.02},
      {"intermediate_size", c.intermediate},
      {"layer_norm_eps", c.layer_norm_eps},
      {"max_position_embeddings", c.positions},
      {"model_type", c.model_type},
      {"num_attention_heads", c.heads},
      {"num_hidden_layers", c.layers},
      {"pad_token_id", c.pad_token_id},
      {"position_embedding_type", "absolute"},
      {"torch_dtype", torch_dtype},
      {"type_vocab_size", c.types},
      {"vocab_size", c.vocabulary},
  };
  return detail::dump_json(json) + "\n";
}

}  // namespace simile
