// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "simile/checkpoint/builtin_model.h"
#include "simile/checkpoint/encoder_family.h"
#include "simile/checkpoint/model_folder.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

struct ModuleEntry {
  std::string type;    // "Pooling": the last part of the type
  std::string folder;  // inside the model folder
};

// A path inside the model folder, never one that leads out of it.
void check_inside(const std::string& path, const std::string& source) {
  const bool leaves = (!path.empty() && path[0] == '/') || path.find("..") != std::string::npos;
  SIMILE_CHECK(
      !leaves, ErrorKind::kInput,
      fmt::format("{}: \"path\" is \"{}\", which leads out of the model folder", source, path));
}

std::vector<ModuleEntry> read_modules(const std::string& path) {
  const Json list = detail::read_json(path);
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput,
               fmt::format("{}: expected a list of modules", path));
  std::vector<ModuleEntry> modules;
  for (const Json& item : list) {
    const JsonObject json(item, path);
    const std::string type = json.text("type");
    const size_t dot = type.rfind('.');
    modules.push_back(
        {dot == std::string::npos ? type : type.substr(dot + 1), json.text_or("path", "")});
    check_inside(modules.back().folder, path);
  }
  return modules;
}

// Transformer, Pooling and possibly Normalize, in this order.
void check_modules(const std::vector<ModuleEntry>& modules, const std::string& source) {
  for (const ModuleEntry& module : modules) {
    const bool known =
        module.type == "Transformer" || module.type == "Pooling" || module.type == "Normalize";
    SIMILE_CHECK(known, ErrorKind::kInput,
                 fmt::format("{}: module \"{}\" is not supported; known: Transformer, Pooling, "
                             "Normalize",
                             source, module.type));
  }
  const bool ordered = modules.size() >= 2 && modules[0].type == "Transformer" &&
                       modules[1].type == "Pooling" &&
                       std::all_of(modules.begin() + 2, modules.end(),
                                   [](const ModuleEntry& m) { return m.type == "Normalize"; });
  SIMILE_CHECK(ordered, ErrorKind::kInput,
               fmt::format("{}: modules must be Transformer, Pooling and possibly Normalize, in "
                           "this order",
                           source));
}

// "cls", "mean" ... of either schema.
std::vector<std::string> read_pooling_names(const JsonObject& json) {
  std::vector<std::string> names;
  if (json.has("pooling_mode")) {
    const Json& mode = json.at("pooling_mode");
    for (const Json& one : mode.is_array() ? mode : Json::array({mode})) {
      SIMILE_CHECK(one.is_string(), ErrorKind::kInput,
                   fmt::format("{}: \"pooling_mode\" must be a name, but it is {}", json.source(),
                               detail::describe_json(mode)));
      names.push_back(one.get<std::string>());
    }
    return names;
  }
  constexpr std::pair<const char*, const char*> kFlags[] = {
      {"pooling_mode_cls_token", "cls"},
      {"pooling_mode_max_tokens", "max"},
      {"pooling_mode_mean_tokens", "mean"},
      {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
      {"pooling_mode_weightedmean_tokens", "weightedmean"},
      {"pooling_mode_lasttoken", "lasttoken"}};
  for (const auto& [key, name] : kFlags) {
    if (json.flag_or(key, false)) names.push_back(name);
  }
  if (names.empty()) names.push_back("mean");
  return names;
}

// Returns whether the tokens of a prompt count in the pooling.
bool read_pooling(const std::string& path, ModelSettings& settings) {
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  const std::vector<std::string> names = read_pooling_names(json);
  const bool known =
      names.size() == 1 && (names[0] == "cls" || names[0] == "mean" || names[0] == "max");
  SIMILE_CHECK(known, ErrorKind::kInput,
               fmt::format("{}: pooling \"{}\" is not supported; known: one of cls, mean, max",
                           path, fmt::join(names, "+")));
  settings.pooling = parse_pooling_mode(names[0]);
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    const int64_t hidden = settings.encoder.hidden;
    const int64_t size = json.integer_or(key, hidden, 0, int64_t{1} << 32);
    SIMILE_CHECK(size == hidden, ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}, but config.json says \"hidden_size\" {}", path, key,
                             size, hidden));
  }
  return json.flag_or("include_prompt", true);
}

// The tokenizer's own limit; people write 1e30 for none.
int64_t read_tokenizer_limit(const std::string& folder, int64_t fallback) {
  const std::string path = join_path(folder, "tokenizer_config.json");
  if (!file_exists(path)) return fallback;
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  const double limit = json.number_or("model_max_length", static_cast<double>(fallback), 1, 1e300);
  return limit < static_cast<double>(fallback) ? static_cast<int64_t>(limit) : fallback;
}

void check_lower_case(const JsonObject& json, const std::string& folder) {
  if (!json.flag_or("do_lower_case", false)) return;
  const std::string path = join_path(folder, "tokenizer_config.json");
  bool lowers = false;
  if (file_exists(path)) {
    const Json parsed = detail::read_json(path);
    lowers = JsonObject(parsed, path).flag_or("do_lower_case", false);
  }
  SIMILE_CHECK(lowers, ErrorKind::kInput,
               fmt::format("{}: \"do_lower_case\" is true, but the tokenizer does not lower-case; "
                           "this is not supported",
                           json.source()));
}

int64_t read_max_length(const std::string& folder, const EncoderConfig& config) {
  const EncoderFamily* family = find_encoder_family(config.model_type);
  const int64_t most = config.positions - family->position_offset;
  for (const char* name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                           "sentence_distilbert_config.json", "sentence_camembert_config.json",
                           "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
                           "sentence_xlnet_config.json"}) {
    const std::string path = join_path(folder, name);
    if (!file_exists(path)) continue;
    const Json parsed = detail::read_json(path);
    const JsonObject json(parsed, path);
    check_lower_case(json, folder);
    if (json.has("max_seq_length")) {
      return std::min(most, json.integer("max_seq_length", 1, int64_t{1} << 40));
    }
  }
  return read_tokenizer_limit(folder, most);
}

void read_sentence_config(const std::string& path, ModelSettings& settings) {
  if (!file_exists(path)) return;
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  if (json.has("prompts")) {
    const Json& prompts = json.at("prompts");
    for (const auto& [name, text] : prompts.items()) {
      SIMILE_CHECK(prompts.is_object() && text.is_string(), ErrorKind::kInput,
                   fmt::format("{}: \"prompts\" must be an object of texts", path));
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
  settings.dimensions = json.integer_or("truncate_dim", 0, 1, settings.encoder.hidden);
}

std::string find_weights(const std::string& folder) {
  const std::string path = join_path(folder, "model.safetensors");
  if (file_exists(path)) return path;
  std::string hint = "is it a model folder?";
  if (file_exists(path + ".index.json")) hint = "weights in several files are not supported";
  if (file_exists(join_path(folder, "pytorch_model.bin"))) {
    hint = "pytorch_model.bin is not read: save the model with safe_serialization=True";
  }
  throw Error(ErrorKind::kInput, fmt::format("'{}' has no model.safetensors; {}", folder, hint));
}

std::string find_tokenizer(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) return path;
  }
  throw Error(ErrorKind::kInput,
              fmt::format("'{}' has neither tokenizer.json nor vocab.txt", folder));
}

// What training left for training to go on with.
void read_training(const std::string& path, ModelSettings& settings) {
  if (!file_exists(path)) return;
  const Json json = detail::read_json(path);
  const JsonObject object(json, path);
  if (!object.has("temperatures")) return;
  const Json& temperatures = object.at("temperatures");
  const JsonObject by_loss(temperatures, path);
  for (const auto& item : temperatures.items()) {
    settings.temperatures[item.key()] = by_loss.number_or(item.key().c_str(), 1.0, 1e-6, 1e6);
  }
}

}  // namespace

ModelFolder open_model_folder(const std::string& name_or_path, EventSink& events) {
  const std::string path = resolve_model(name_or_path);
  SIMILE_CHECK(folder_exists(path), ErrorKind::kInput,
               fmt::format("model folder '{}' does not exist; expected a folder with config.json, "
                           "model.safetensors and tokenizer.json",
                           path));
  ModelFolder model;
  model.path = path;
  const std::string modules_path = join_path(path, "modules.json");
  std::vector<ModuleEntry> modules;
  if (file_exists(modules_path)) {
    modules = read_modules(modules_path);
    check_modules(modules, modules_path);
  }
  const std::string encoder = modules.empty() ? path : join_path(path, modules[0].folder);
  ModelSettings& settings = model.settings;
  settings.encoder = read_encoder_config(join_path(encoder, "config.json"));
  settings.normalize = modules.size() > 2;
  settings.max_length = read_max_length(encoder, settings.encoder);
  read_sentence_config(join_path(path, "config_sentence_transformers.json"), settings);
  read_training(join_path(path, "simile.json"), settings);
  if (modules.empty()) {
    events.warning(
        fmt::format("'{}' has no modules.json: using the mean of all tokens, not "
                    "normalised",
                    path));
  } else {
    const std::string pooling_path = join_path(join_path(path, modules[1].folder), "config.json");
    const bool include_prompt = read_pooling(pooling_path, settings);
    const bool prompted = std::any_of(settings.prompts.begin(), settings.prompts.end(),
                                      [](const auto& prompt) { return !prompt.second.empty(); });
    SIMILE_CHECK(include_prompt || !prompted, ErrorKind::kInput,
                 fmt::format("{}: \"include_prompt\" false is not supported for a model with "
                             "prompts",
                             pooling_path));
  }
  model.weights_path = find_weights(encoder);
  model.tokenizer_path = find_tokenizer(encoder);
  model.heads = open_heads(path);
  return model;
}

}  // namespace simile
