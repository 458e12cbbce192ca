// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/detail/folder_config.h"
#include "simile/model/encoder_family.h"
#include "simile/model/hub.h"
#include "simile/model/model_files.h"
#include "simile/model/static_weights.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int kMostParents = 6;

std::string program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

bool is_model(const std::string& folder) {
  const auto& marks = model_marks();
  return std::any_of(marks.begin(), marks.end(),
                     [&](const std::string& mark) { return file_exists(join_path(folder, mark)); });
}

[[noreturn]] void fail(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> searched;
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    if (!folder_exists(folder)) continue;
    searched.push_back(folder);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_model(entry.path().string())) names.insert(entry.path().filename().string());
    }
  }
  throw_error(ErrorKind::kInput,

              "'{}' is neither a path nor the name of a built-in model; built-in models found: {}; "
              "searched: {}; give a model folder (config.json, model.safetensors, tokenizer.json), "
              "or add the folder that contains it to SIMILE_MODELS, or fetch a model from the "
              "Hugging Face hub (simile get ORG/NAME) and give that name",
              name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
              fmt::join(searched.empty() ? folders : searched, ", "));
}

std::string find_model(const std::string& name) {
  SIMILE_CHECK(
      !starts_with(name, kHybridPrefix), ErrorKind::kUsage,
      "'{}': a hybrid scores texts beside others of a set or a corpus, in `simile evaluate` and "
      "among the `baselines` of a recipe; what is asked for here takes a model alone, such as '{}'",
      name,
      name.size() > kHybridPrefix.size() ? name.substr(kHybridPrefix.size()) : "simile-mini-3");
  if (name.empty() || file_exists(name) || is_model(name)) return name;
  const bool has_slash = name.find('/') != std::string::npos;
  std::vector<std::string> folders;
  if (!has_slash) {
    const char* const variable = std::getenv("SIMILE_MODELS");
    folders = model_folders(program_folder(), variable == nullptr ? "" : variable);
    for (const char* more : {SIMILE_LAST_MODELS, "models"}) {
      if (std::find(folders.begin(), folders.end(), more) == folders.end()) folders.push_back(more);
    }
    for (const std::string& folder : folders) {
      const std::string path = join_path(folder, name);
      if (is_model(path)) return path;
    }
  }
  if (folder_exists(name)) return name;
  if (const std::optional<HubName> hub = parse_hub_name(name)) {
    const HubSettings settings = hub_settings();
    if (const auto found = find_hub_model(*hub, settings)) return *found;
    SIMILE_CHECK(!has_slash, ErrorKind::kInput,
                 "there is no folder '{0}', and no model of this name in the cache of the Hugging "
                 "Face hub ({1}); to fetch it: simile get {0}",
                 name, settings.cache);
  }
  if (has_slash) return name;
  fail(name, folders);
}

using detail::Json;
using detail::JsonObject;

// tokenizer.json or vocab.txt; else the folder, where the tokenizer finds its other files.
std::string find_tokenizer_file(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) return path;
  }
  for (const char* name :
       {"sentencepiece.bpe.model", "spiece.model", "tokenizer.model", "vocab.json"}) {
    if (file_exists(join_path(folder, name))) return folder;
  }
  throw_error(
      ErrorKind::kInput,
      "'{}' has neither tokenizer.json nor vocab.txt, nor the files of a BPE or sentencepiece "
      "tokenizer (vocab.json, sentencepiece.bpe.model, spiece.model, tokenizer.model)",
      folder);
}

// The folder of the module that reads texts. Sets `is_static` where it is a table.
std::string find_text_folder(const std::string& folder, bool& is_static) {
  const std::string path = join_path(folder, "modules.json");
  if (!file_exists(path)) return folder;
  const std::vector<detail::ModuleEntry> modules = detail::read_module_list(path);
  is_static = detail::is_static(modules);
  return join_path(folder, modules[0].folder);
}

// Model2Vec's folders, where they have no modules.json: a static table beside a config.json of its
// own, which says whether vectors are normalised.
bool read_model2vec(const std::string& path, ModelSettings& settings) {
  const std::string config = join_path(path, "config.json");
  if (!file_exists(config)) return false;
  const Json parsed = detail::read_json(config);
  const JsonObject json(parsed, config);
  if (json.text_or("model_type", "") != "model2vec") return false;
  settings.encoder = read_static_config(find_weights(path));
  settings.pooling.modes.clear();
  settings.normalize = json.flag_or("normalize", false);
  return true;
}

void read_encoder_settings(const std::string& path, const std::string& encoder,
                           const std::vector<detail::ModuleEntry>& modules, ModelSettings& settings,
                           EventSink& events) {
  if (modules.empty() && read_model2vec(path, settings)) return;
  settings.encoder = detail::is_static(modules)
                         ? read_static_config(find_weights(encoder))
                         : read_encoder_config(join_path(encoder, "config.json"));
  if (!modules.empty()) return detail::read_modules(path, modules, settings);
  const std::string& family = settings.encoder.model_type;
  settings.pooling = parse_pooling_mode(find_encoder_family(family)->pooling);
  settings.normalize = false;
  events.warning(fmt::format(
      "'{}' has no modules.json: using the pooling {}, as is usual for {}, not normalised", path,
      pooling_name(settings.pooling), family));
}

void check_is_model(const std::string& path) {
  SIMILE_CHECK(
      folder_exists(path), ErrorKind::kInput,
      "model folder '{}' {}{}; expected a folder with config.json, weights and tokenizer.json, or "
      "the name of a model that was fetched from the Hugging Face hub (simile get ORG/NAME)",
      path,
      !file_exists(path)         ? "does not exist"
      : ends_with(path, ".gguf") ? "is a GGUF file, which is for llama.cpp"
                                 : "is a file",
      describe_leftovers(path));
  const auto has = [&](const char* name) { return file_exists(join_path(path, name)); };
  if (has("config.json") || (has("modules.json") && !has("adapter_config.json"))) return;
  SIMILE_CHECK(has("run.json"), ErrorKind::kInput, "'{}' {}", path,
               explain_no_model(path, list_model_files(path)));
  const std::string model = join_path(path, "model");
  throw Error(ErrorKind::kInput,
              folder_exists(model)
                  ? fmt::format("'{}' is the folder of a run; its model is '{}'", path, model)
                  : fmt::format("'{}' is the folder of a run that has no model yet; finish it: "
                                "simile train {} --resume",
                                path, path));
}

Tokenizer load(const std::string& path, bool alone, EventSink& events) {
  if (!alone || !ends_with(path, "/tokenizer.json")) return Tokenizer::load(path, events);
  verify_checksum(path);
  return Tokenizer::parse(read_file(path), path);
}

}  // namespace

const std::vector<std::string>& model_marks() {
  static const std::vector<std::string> marks = {"config.json", "modules.json", "tokenizer.json",
                                                 "vocab.txt"};
  return marks;
}

std::vector<std::string> model_folders(const std::string& program_folder,
                                       const std::string& variable) {
  std::vector<std::string> folders;
  std::istringstream parts(variable);
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) folders.push_back(part);
  }
  if (program_folder.empty()) return folders;
  fs::path folder = program_folder;
  folders.push_back((folder.parent_path() / "share/simile/models").string());
  for (int above = 0; above <= kMostParents; ++above) {
    folders.push_back((folder / "models").string());
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return folders;
}

std::string resolve_model(const std::string& name_or_path) {
  std::string folder = find_model(name_or_path);
  refuse_lfs_pointers(folder);
  return folder;
}

std::string find_tokenizer(const std::string& name_or_path) {
  bool is_static = false;
  return find_text_folder(resolve_model(name_or_path), is_static);
}

Tokenizer load_tokenizer(const ModelFolder& model, EventSink& events) {
  return load(model.tokenizer_path, model.reads_alone, events);
}

Tokenizer open_tokenizer(const std::string& name_or_path, EventSink& events) {
  bool is_static = false;
  const std::string folder = find_text_folder(resolve_model(name_or_path), is_static);
  Tokenizer tokenizer =
      is_static ? load(find_tokenizer_file(folder), true, events) : Tokenizer::load(folder, events);
  tokenizer.set_special_tokens(!is_static);
  return tokenizer;
}

ModelFolder open_model_folder(const std::string& name_or_path, EventSink& events, ModelUse use) {
  const std::string path = resolve_model(name_or_path);
  check_is_model(path);
  // The weights are verified where they are read.
  verify_checksums(path, [](const std::string& name) {
    return ends_with(name, ".safetensors") || ends_with(name, ".bin");
  });
  ModelFolder model;
  model.path = path;
  const std::string modules_path = join_path(path, "modules.json");
  std::vector<detail::ModuleEntry> modules;
  if (file_exists(modules_path)) modules = detail::read_module_list(modules_path);
  const std::string encoder = modules.empty() ? path : join_path(path, modules[0].folder);
  ModelSettings& settings = model.settings;
  const std::string config = join_path(encoder, "config.json");
  if (file_exists(config) && is_cross_encoder(config)) {
    SIMILE_CHECK(use == ModelUse::kPairs, ErrorKind::kInput,
                 "{}: a cross-encoder (one label), which scores two texts read together and makes "
                 "no vectors; use it to re-rank (simile search --rerank, simile serve "
                 "--rerank-model), and a sentence encoder here, such as "
                 "sentence-transformers/all-MiniLM-L6-v2 (simile get ORG/NAME)",
                 config);
    detail::check_purpose(modules, true, modules_path);
    settings.encoder = read_encoder_config(config);
    model.weights_path = find_weights(encoder);
    model.tokenizer_path = find_tokenizer_file(encoder);
    read_cross_encoder(encoder, model);
    detail::read_text_limits(encoder, settings);
    return model;
  }
  detail::check_purpose(modules, false, modules_path);
  read_encoder_settings(path, encoder, modules, settings, events);
  detail::read_text_limits(encoder, settings);
  model.weights_path = find_weights(encoder);
  model.tokenizer_path = find_tokenizer_file(encoder);
  model.reads_alone = settings.encoder.is_static();
  if (model.reads_alone) detail::read_truncation(model.tokenizer_path, settings);
  detail::read_sentence_config(join_path(path, "config_sentence_transformers.json"), settings);
  // State that training saved for a later training.
  const std::string training = join_path(path, "simile.json");
  const Json left = file_exists(training) ? detail::read_json(training) : Json::object();
  if (JsonObject(left, training).has("temperatures")) {
    const JsonObject by_loss(left["temperatures"], training);
    for (const auto& item : left["temperatures"].items()) {
      settings.temperatures[item.key()] = by_loss.number_or(item.key().c_str(), 1.0, 1e-6, 1e6);
    }
  }
  model.heads = open_heads(path);
  return model;
}

}  // namespace simile
