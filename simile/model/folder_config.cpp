// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/folder_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/model/module_reader.h"
#include "simile/model/tensor_source.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/tokenizer.h"

namespace simile::detail {
namespace {

constexpr const char* kTransformer = "Transformer";
constexpr const char* kPooling = "Pooling";
constexpr const char* kStatic = "StaticEmbedding";
constexpr ModuleKind kKinds[] = {ModuleKind::kDense, ModuleKind::kLayerNorm,
                                 ModuleKind::kNormalize};
constexpr const char* kDropout = "Dropout";  // changes nothing at inference
constexpr size_t kMostModules = 64;

const ModuleKind* find_kind(const std::string& type) {
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](ModuleKind k) { return type == module_kind_name(k); });
  return kind == std::end(kKinds) ? nullptr : kind;
}

bool may_follow(const ModuleEntry& module) {
  return module.type == kDropout || find_kind(module.type) != nullptr;
}

// Number of modules that make the vector that the others take.
size_t encoder_modules(const std::vector<ModuleEntry>& list) { return is_static(list) ? 1 : 2; }

bool is_alone(const std::vector<ModuleEntry>& list) {
  return list.size() == 1 && list[0].type == kTransformer;
}

[[noreturn]] void refuse_order(const std::string& source) {
  throw_error(ErrorKind::kInput,
              "{}: modules must be Transformer, Pooling (or StaticEmbedding alone) and then any of "
              "Dense, LayerNorm, Normalize and Dropout, in this order and {} at most",
              source, kMostModules);
}

void check_inside(const std::string& path, const std::string& source) {
  const bool leaves = (!path.empty() && path[0] == '/') || path.find("..") != std::string::npos;
  SIMILE_CHECK(!leaves, ErrorKind::kInput,
               "{}: \"path\" is \"{}\", which leads out of the model folder", source, path);
}

// Modules of Simile's own, which versions before simile-mini-3 wrote.
void refuse_old_module(const std::string& type, const std::string& source) {
  const bool is_joined = type == "simile.Joined";
  SIMILE_CHECK(!is_joined && type != "simile.StaticEmbedding", ErrorKind::kInput,
               "{}: the module \"{}\" ({}) is no longer read; train the model again from "
               "simile-mini-3 or simile-mini-3-static, or use a model of one plain encoder",
               source, type,
               is_joined ? "several encoders side by side, such as simile-mini-2"
                         : "a table that weighs tokens by place and repetition");
}

void check_list(const std::vector<ModuleEntry>& list, const std::string& source) {
  for (const ModuleEntry& module : list) {
    const bool known = module.type == kTransformer || module.type == kPooling ||
                       module.type == kStatic || may_follow(module);
    SIMILE_CHECK(known, ErrorKind::kInput,
                 "{}: module \"{}\" is not supported; known: Transformer, Pooling, "
                 "StaticEmbedding, Dense, LayerNorm, Normalize, Dropout",
                 source, module.type);
  }
  const bool pools = list.size() >= 2 && list[0].type == kTransformer && list[1].type == kPooling;
  const bool ordered = (pools || encoder_modules(list) == 1) && list.size() <= kMostModules &&
                       std::all_of(list.begin() + static_cast<int64_t>(encoder_modules(list)),
                                   list.end(), may_follow);
  if (!ordered && !is_alone(list)) refuse_order(source);
}

// The newer schema's names in their order; the older schema's flags in the order of
// pooling_modes(); without any the mean, as sentence-transformers does.
std::vector<PoolingMode> read_modes(const JsonObject& json) {
  std::vector<PoolingMode> modes;
  if (json.has("pooling_mode")) {
    const Json& mode = json.at("pooling_mode");
    for (const Json& one : mode.is_array() ? mode : Json::array({mode})) {
      const auto row = std::find_if(pooling_modes().begin(), pooling_modes().end(),
                                    [&](const PoolingModeRow& known) { return one == known.name; });
      SIMILE_CHECK(row != pooling_modes().end(), ErrorKind::kInput,
                   "{}: \"pooling_mode\" is {}; known: {}", json.source(), describe_json(one),
                   fmt::join(pooling_mode_names(), ", "));
      modes.push_back(row->mode);
    }
    SIMILE_CHECK(!modes.empty() && modes.size() <= pooling_modes().size(), ErrorKind::kInput,
                 "{}: \"pooling_mode\" names {} modes; expected 1 to {}", json.source(),
                 modes.size(), pooling_modes().size());
    return modes;
  }
  for (const PoolingModeRow& row : pooling_modes()) {
    if (json.flag_or(row.flag, false)) modes.push_back(row.mode);
  }
  return modes.empty() ? std::vector{PoolingMode::kMean} : modes;
}

Pooling read_pooling(const std::string& path, int64_t hidden) {
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  std::vector<std::string> known = {"word_embedding_dimension", "embedding_dimension",
                                    "pooling_mode", "include_prompt"};
  for (const PoolingModeRow& row : pooling_modes()) known.emplace_back(row.flag);
  check_keys(parsed, path, known);
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    const int64_t size = json.integer_or(key, hidden, 0, int64_t{1} << 32);
    SIMILE_CHECK(size == hidden, ErrorKind::kInput,
                 "{}: \"{}\" is {}, but config.json says \"hidden_size\" {}", path, key, size,
                 hidden);
  }
  Pooling pooling;
  pooling.modes = read_modes(json);
  pooling.include_prompt = json.flag_or("include_prompt", true);
  return pooling;
}

bool is_half(const Json& type) {
  const std::string name = type.is_string() ? type.get<std::string>() : "";
  return ends_with(name, "float16");  // float16, bfloat16, torch.float16
}

// sentence-transformers rounds weights to the type that the arguments name.
void check_type(const std::string& folder, const Json& type, const std::string& where) {
  if (!is_half(type)) return;
  const std::unique_ptr<TensorSource> weights = open_weights(find_weights(folder));
  for (const TensorInfo& tensor : weights->tensors()) {
    SIMILE_CHECK(tensor.type != TensorType::kF32, ErrorKind::kInput,
                 "{} is {}, to which sentence-transformers rounds the weights, but {} holds them "
                 "in F32; save them in that type, or remove the key to use them as they are",
                 where, describe_json(type), weights->path());
  }
}

// How the encoder is loaded by transformers: accepted where it does not change what is computed.
void check_arguments(const Json& arguments, const std::string& folder, const std::string& where) {
  static const std::set<std::string> kHarmless = {
      "trust_remote_code", "torch_dtype",     "dtype",
      "revision",          "use_safetensors", "attn_implementation",
      "add_pooling_layer", "unpad_inputs",    "use_memory_efficient_attention"};
  SIMILE_CHECK(arguments.is_object(), ErrorKind::kInput, "{} must be an object, but it is {}",
               where, describe_json(arguments));
  for (const auto& [key, value] : arguments.items()) {
    SIMILE_CHECK(kHarmless.count(key) > 0, ErrorKind::kInput,
                 "{}: \"{}\" is {}, which is not supported", where, key, describe_json(value));
    if (key == "torch_dtype" || key == "dtype") {
      check_type(folder, value, fmt::format("{}: \"{}\"", where, key));
    }
  }
}

void check_text_keys(const JsonObject& json, const Json& parsed, const std::string& folder,
                     bool pairs) {
  for (const auto& [key, value] : parsed.items()) {
    const std::string where = fmt::format("{}: \"{}\"", json.source(), key);
    if (value.is_null() || key == "max_seq_length" || key == "do_lower_case" ||
        key == "unpad_inputs") {
      continue;
    }
    if (key == "transformer_task") {
      check_text(json, "transformer_task",
                 pairs ? "sequence-classification" : "feature-extraction");
    } else if (key == "module_output_name") {
      check_text(json, "module_output_name", pairs ? "scores" : "token_embeddings");
    } else if (key == "modality_config") {
      const std::string inner = where + " \"text\"";
      const JsonObject text(JsonObject(value, where).at("text"), inner);
      check_text(text, "method", "forward");
      check_text(text, "method_output_name", pairs ? "logits" : "last_hidden_state");
    } else if (key == "model_args" || key == "tokenizer_args" || key == "config_args" ||
               key == "model_kwargs" || key == "processor_kwargs" || key == "config_kwargs") {
      check_arguments(value, folder, where);
    } else {
      throw_error(ErrorKind::kInput, "{} is {}: this key is not known", where,
                  describe_json(value));
    }
  }
}

}  // namespace

void check_keys(const Json& object, const std::string& source,
                const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    SIMILE_CHECK(std::find(known.begin(), known.end(), key) != known.end(), ErrorKind::kInput,
                 "{}: \"{}\" is {}: this key is not known; known: {}", source, key,
                 describe_json(value), fmt::join(known, ", "));
  }
}

void check_text(const JsonObject& json, const char* key, const std::string& only) {
  const std::string value = json.text_or(key, only);
  SIMILE_CHECK(value == only, ErrorKind::kInput, "{}: \"{}\" is \"{}\"; only \"{}\" is supported",
               json.source(), key, value, only);
}

void check_purpose(const std::vector<ModuleEntry>& list, bool pairs, const std::string& source) {
  SIMILE_CHECK(!pairs || list.empty() || is_alone(list), ErrorKind::kInput,
               "{}: a cross-encoder has the module Transformer alone, but {} are listed", source,
               list.size());
  if (!pairs && is_alone(list)) refuse_order(source);
}

bool is_static(const std::vector<ModuleEntry>& list) {
  return !list.empty() && list[0].type == kStatic;
}

std::vector<ModuleEntry> read_module_list(const std::string& path) {
  const Json list = read_json(path);
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput, "{}: expected a list of modules", path);
  std::vector<ModuleEntry> modules;
  for (const Json& item : list) {
    const JsonObject json(item, path);
    check_keys(item, path, {"idx", "name", "path", "type"});
    const std::string type = json.text("type");
    const size_t dot = type.rfind('.');
    refuse_old_module(type, path);
    SIMILE_CHECK(dot == std::string::npos || starts_with(type, "sentence_transformers."),
                 ErrorKind::kInput,
                 "{}: the module \"{}\" is Python code of the model's own, which Simile does not "
                 "run; expected a module of sentence-transformers, such as "
                 "sentence_transformers.models.Pooling",
                 path, type);
    modules.push_back(
        {dot == std::string::npos ? type : type.substr(dot + 1), json.text_or("path", "")});
    check_inside(modules.back().folder, path);
  }
  check_list(modules, path);
  modules.erase(std::remove_if(modules.begin(), modules.end(),
                               [](const ModuleEntry& m) { return m.type == kDropout; }),
                modules.end());
  return modules;
}

void read_modules(const std::string& path, const std::vector<ModuleEntry>& list,
                  ModelSettings& settings) {
  const auto folder = [&](const ModuleEntry& entry) { return join_path(path, entry.folder); };
  if (encoder_modules(list) == 1) {
    settings.pooling.modes.clear();
  } else {
    settings.pooling =
        read_pooling(join_path(folder(list[1]), "config.json"), settings.encoder.hidden);
  }
  settings.modules.clear();
  settings.normalize = false;
  for (size_t i = encoder_modules(list); i < list.size(); ++i) {
    settings.modules.push_back(
        read_module(folder(list[i]), *find_kind(list[i].type), settings.embedding_size()));
  }
  while (!settings.modules.empty() && settings.modules.back().kind == ModuleKind::kNormalize) {
    settings.modules.pop_back();
    settings.normalize = true;
  }
}

void read_text_limits(const std::string& encoder_folder, ModelSettings& settings) {
  const int64_t most = settings.encoder.shape().longest_sequence();
  settings.max_length = most;
  // The tokenizer's own limit; people write 1e30 for none.
  const std::string tokenizer = join_path(encoder_folder, "tokenizer_config.json");
  if (file_exists(tokenizer)) {
    const Json parsed = read_json(tokenizer);
    const JsonObject json(parsed, tokenizer);
    if (json.has("model_input_names")) {
      const Json& names = json.list("model_input_names");
      settings.token_types = std::find(names.begin(), names.end(), "token_type_ids") != names.end();
    }
    const auto none = static_cast<double>(most);
    settings.max_length = static_cast<int64_t>(
        std::min(none, json.number_or(json.has("model_max_length") ? "model_max_length" : "max_len",
                                      none, 1, 1e300)));
  }
  for (const char* name : sentence_file_names()) {
    const std::string path = join_path(encoder_folder, name);
    if (!file_exists(path)) continue;
    const Json parsed = read_json(path);
    const JsonObject json(parsed, path);
    check_text_keys(json, parsed, encoder_folder, settings.cross_encoder);
    settings.lower_case =
        json.flag_or("do_lower_case", false) && !Tokenizer::load(encoder_folder).lower_cases();
    if (json.has("max_seq_length")) {
      settings.max_length = std::min(most, json.integer("max_seq_length", 1, int64_t{1} << 40));
    }
    return;
  }
}

void read_truncation(const std::string& tokenizer, ModelSettings& settings) {
  if (!ends_with(tokenizer, ".json")) return;
  const auto skip = [](bool, const std::string&, const Json&) {};
  const Json parsed = parse_json(read_file(tokenizer), tokenizer,
                                 {{{"model", "vocab"}, skip}, {{"model", "merges"}, skip}});
  const JsonObject json(parsed, tokenizer);
  if (!json.has("truncation")) return;
  const std::string where = tokenizer + ": truncation";
  const JsonObject truncation(json.at("truncation"), where);
  settings.max_length = std::min(settings.encoder.shape().longest_sequence(),
                                 truncation.integer("max_length", 1, int64_t{1} << 40));
}

void read_sentence_config(const std::string& path, ModelSettings& settings) {
  if (!file_exists(path)) return;
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  check_text(json, "model_type", "SentenceTransformer");
  check_keys(parsed, path,
             {"__version__", "model_type", "prompts", "default_prompt_name", "similarity_fn_name",
              "truncate_dim"});
  if (json.has("prompts")) {
    const Json& prompts = json.at("prompts");
    for (const auto& [name, text] : prompts.items()) {
      SIMILE_CHECK(prompts.is_object() && text.is_string(), ErrorKind::kInput,
                   "{}: \"prompts\" must be an object of texts", path);
      settings.prompts[name] = text.get<std::string>();
    }
  }
  settings.default_prompt = json.text_or("default_prompt_name", "");
  SIMILE_CHECK(settings.default_prompt.empty() || settings.prompts.count(settings.default_prompt),
               ErrorKind::kInput,
               "{}: \"default_prompt_name\" is \"{}\", which \"prompts\" does not have", path,
               settings.default_prompt);
  settings.similarity = json.text_or("similarity_fn_name", "cosine");
  const std::string& name = settings.similarity;
  SIMILE_CHECK(name == "cosine" || name == "dot" || name == "euclidean" || name == "manhattan",
               ErrorKind::kInput,
               "{}: \"similarity_fn_name\" is \"{}\"; known: cosine, dot, euclidean, manhattan",
               path, name);
  settings.dimensions = json.integer_or("truncate_dim", 0, 1, settings.embedding_size());
}

}  // namespace simile::detail
