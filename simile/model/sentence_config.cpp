// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/sentence_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/tokenizer_files.h"

namespace simile::detail {
namespace {

constexpr const char* kNames[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

constexpr const char* kSentenceKeys[] = {
    "__version__",         "model_type",         "prompts",
    "default_prompt_name", "similarity_fn_name", "truncate_dim"};

void check_text(const JsonObject& json, const char* key, const std::string& only) {
  const std::string value = json.text_or(key, only);
  SIMILE_CHECK(value == only, ErrorKind::kInput,
               fmt::format("{}: \"{}\" is \"{}\"; only \"{}\" is supported", json.source(), key,
                           value, only));
}

// How the encoder is loaded by transformers: accepted where it does not change what is computed.
void check_arguments(const Json& arguments, const std::string& where) {
  constexpr const char* kHarmless[] = {
      "trust_remote_code", "torch_dtype",     "dtype",
      "revision",          "use_safetensors", "attn_implementation",
      "add_pooling_layer", "unpad_inputs",    "use_memory_efficient_attention"};
  SIMILE_CHECK(arguments.is_object(), ErrorKind::kInput,
               fmt::format("{} must be an object, but it is {}", where, describe_json(arguments)));
  for (const auto& [key, value] : arguments.items()) {
    const bool known = std::any_of(std::begin(kHarmless), std::end(kHarmless),
                                   [&name = key](const char* other) { return name == other; });
    SIMILE_CHECK(
        known, ErrorKind::kInput,
        fmt::format("{}: \"{}\" is {}, which is not supported", where, key, describe_json(value)));
  }
}

// {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
void check_modalities(const Json& modalities, const std::string& source) {
  const std::string where = source + ": \"modality_config\"";
  const JsonObject json(modalities, where);
  const Json& text = json.at("text");
  const std::string text_where = where + " \"text\"";
  const JsonObject object(text, text_where);
  check_text(object, "method", "forward");
  check_text(object, "method_output_name", "last_hidden_state");
}

void check_keys(const JsonObject& json, const Json& parsed) {
  for (const auto& [key, value] : parsed.items()) {
    if (value.is_null() || key == "max_seq_length" || key == "do_lower_case" ||
        key == "unpad_inputs") {
      continue;
    }
    if (key == "transformer_task") {
      check_text(json, "transformer_task", "feature-extraction");
    } else if (key == "module_output_name") {
      check_text(json, "module_output_name", "token_embeddings");
    } else if (key == "modality_config") {
      check_modalities(value, json.source());
    } else if (key == "model_args" || key == "tokenizer_args" || key == "config_args" ||
               key == "model_kwargs" || key == "processor_kwargs" || key == "config_kwargs") {
      check_arguments(value, fmt::format("{}: \"{}\"", json.source(), key));
    } else {
      throw Error(ErrorKind::kInput, fmt::format("{}: \"{}\" is {}: this key is not known",
                                                 json.source(), key, describe_json(value)));
    }
  }
}

// The tokenizer's own limit; people write 1e30 for none.
int64_t read_tokenizer_limit(const std::string& folder, int64_t fallback) {
  const std::string path = join_path(folder, "tokenizer_config.json");
  if (!file_exists(path)) return fallback;
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  const double limit = json.number_or("model_max_length", static_cast<double>(fallback), 1, 1e300);
  return limit < static_cast<double>(fallback) ? static_cast<int64_t>(limit) : fallback;
}

void check_prompts(const Json& prompts, const std::string& path) {
  for (const auto& item : prompts.items()) {
    SIMILE_CHECK(prompts.is_object() && item.value().is_string(), ErrorKind::kInput,
                 fmt::format("{}: \"prompts\" must be an object of texts", path));
  }
}

}  // namespace

void read_text_limits(const std::string& encoder_folder, ModelSettings& settings) {
  const int64_t most = settings.encoder.shape().longest_sequence();
  settings.max_length = read_tokenizer_limit(encoder_folder, most);
  for (const char* name : kNames) {
    const std::string path = join_path(encoder_folder, name);
    if (!file_exists(path)) continue;
    const Json parsed = read_json(path);
    const JsonObject json(parsed, path);
    check_keys(json, parsed);
    settings.lower_case =
        json.flag_or("do_lower_case", false) && !tokenizer_lower_cases(encoder_folder);
    if (json.has("max_seq_length")) {
      settings.max_length = std::min(most, json.integer("max_seq_length", 1, int64_t{1} << 40));
    }
    return;
  }
}

void read_sentence_config(const std::string& path, ModelSettings& settings) {
  if (!file_exists(path)) return;
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  check_text(json, "model_type", "SentenceTransformer");
  for (const auto& [key, value] : parsed.items()) {
    const bool known = std::any_of(std::begin(kSentenceKeys), std::end(kSentenceKeys),
                                   [&name = key](const char* other) { return name == other; });
    SIMILE_CHECK(known, ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}: this key is not known; known: {}", path, key,
                             describe_json(value), fmt::join(kSentenceKeys, ", ")));
  }
  if (json.has("prompts")) {
    const Json& prompts = json.at("prompts");
    check_prompts(prompts, path);
    for (const auto& [name, text] : prompts.items()) {
      settings.prompts[name] = text.get<std::string>();
    }
  }
  settings.default_prompt = json.text_or("default_prompt_name", "");
  SIMILE_CHECK(settings.default_prompt.empty() || settings.prompts.count(settings.default_prompt),
               ErrorKind::kInput,
               fmt::format("{}: \"default_prompt_name\" is \"{}\", which \"prompts\" does not have",
                           path, settings.default_prompt));
  settings.similarity = json.text_or("similarity_fn_name", "cosine");
  const std::string& name = settings.similarity;
  SIMILE_CHECK(name == "cosine" || name == "dot" || name == "euclidean" || name == "manhattan",
               ErrorKind::kInput,
               fmt::format("{}: \"similarity_fn_name\" is \"{}\"; known: cosine, dot, euclidean, "
                           "manhattan",
                           path, name));
  settings.dimensions = json.integer_or("truncate_dim", 0, 1, settings.embedding_size());
}

}  // namespace simile::detail
