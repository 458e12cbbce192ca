// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_writer.h"

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/module_reader.h"
#include "simile/model/static_weights.h"

namespace simile {
namespace {

using detail::Json;

class FolderWriter {
 public:
  explicit FolderWriter(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return join_path(path_, name); }
  void text(const std::string& name, const std::string& bytes) const {
    write_file_atomic(file(name), bytes);
  }
  void json(const std::string& name, const Json& value) const {
    text(name, detail::dump_json(value) + "\n");
  }
  FolderWriter folder(const std::string& name) const {
    make_folders(file(name));
    return FolderWriter(file(name));
  }

 private:
  std::string path_;
};

// The modules after pooling, Normalize at the end included.
std::vector<ModuleSettings> modules_of(const ModelSettings& settings) {
  std::vector<ModuleSettings> modules = settings.modules;
  if (settings.normalize) modules.emplace_back();
  return modules;
}

Json modules_json(const ModelSettings& settings) {
  Json modules = Json::array();
  const auto add = [&modules](const std::string& path, const std::string& type) {
    const auto number = static_cast<int64_t>(modules.size());
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", path},
                       {"type", "sentence_transformers.models." + type}});
  };
  if (settings.encoder.is_static()) {
    add(kStaticFolder, "StaticEmbedding");
  } else {
    add("", "Transformer");
    add("1_Pooling", "Pooling");
  }
  for (const ModuleSettings& module : modules_of(settings)) {
    const char* const name = module_kind_name(module.kind);
    add(fmt::format("{}_{}", modules.size(), name), name);
  }
  return modules;
}

Json pooling_json(const ModelSettings& settings) {
  Json json = {{"word_embedding_dimension", settings.encoder.hidden}};
  const std::vector<PoolingMode>& modes = settings.pooling.modes;
  // Keys unknown to sentence-transformers 2.2 are written only if they differ from the default.
  if (!settings.pooling.include_prompt) json["include_prompt"] = false;
  for (const PoolingModeRow& row : pooling_modes()) {
    const bool is_on = std::find(modes.begin(), modes.end(), row.mode) != modes.end();
    const bool is_newer =
        row.mode == PoolingMode::kWeightedMean || row.mode == PoolingMode::kLastToken;
    if (is_on || !is_newer) json[row.flag] = is_on;
  }
  // The older schema's flags have one order and no repeats; the newer one's list says everything.
  if (!std::is_sorted(modes.begin(), modes.end()) ||
      std::adjacent_find(modes.begin(), modes.end()) != modes.end()) {
    for (const PoolingMode mode : modes) json["pooling_mode"].push_back(pooling_mode_name(mode));
  }
  return json;
}

// Weights, tokenizer and length limit, and what says how tokens become one vector.
void write_encoder(const ModelToSave& model, const FolderWriter& folder) {
  const ModelSettings& settings = model.settings;
  const TensorType types[] = {TensorType::kF32, TensorType::kF16, TensorType::kBf16,
                              TensorType::kI8};
  SIMILE_CHECK(std::count(std::begin(types), std::end(types), model.weight_type) > 0,
               ErrorKind::kUsage, "weights are saved as F32, F16, BF16 or I8, not as {}",
               tensor_type_name(model.weight_type));
  TokenizerFiles tokenizer = model.tokenizer;
  complete_tokenizer_files(tokenizer, settings.max_length, settings.encoder.types > 1);
  const bool is_static = settings.encoder.is_static();
  const FolderWriter writer = is_static ? folder.folder(kStaticFolder) : folder;
  if (!is_static) {
    writer.text("config.json", encoder_config_to_json(settings.encoder));
    writer.folder("1_Pooling").json("config.json", pooling_json(settings));
  }
  write_encoder_weights(writer.file(weight_file_name(model.weight_type)), settings.encoder,
                        model.weights, model.weight_type, model.other_tensors);
  for (const auto& [name, bytes] : tokenizer) writer.text(name, bytes);
  writer.json("sentence_bert_config.json",
              {{"max_seq_length", settings.max_length}, {"do_lower_case", settings.lower_case}});
}

// Writes the files that sentence-transformers needs; the encoder is in `folder` already.
void write_sentence_files(const ModelSettings& settings, const FolderWriter& folder) {
  const Json list = modules_json(settings);
  folder.json("modules.json", list);
  Json config = {{"__version__", Json::object()},
                 {"prompts", settings.prompts},
                 {"default_prompt_name", nullptr},
                 {"similarity_fn_name", settings.similarity}};
  if (!settings.default_prompt.empty()) config["default_prompt_name"] = settings.default_prompt;
  if (settings.dimensions > 0) config["truncate_dim"] = settings.dimensions;
  folder.json("config_sentence_transformers.json", config);
  const std::vector<ModuleSettings> modules = modules_of(settings);
  for (size_t i = 0; i < modules.size(); ++i) {  // they are the last of the list
    const std::string name = list[list.size() - modules.size() + i]["path"];
    write_module(folder.folder(name).path(), modules[i]);
  }
}

}  // namespace

void save_model_folder(const std::string& path, const ModelToSave& model) {
  const ModelSettings& settings = model.settings;
  AtomicFolder folder(path, "modules.json");
  const FolderWriter writer(folder.path());
  write_encoder(model, writer);
  write_sentence_files(settings, writer);
  if (!settings.temperatures.empty()) {
    writer.json("simile.json", {{"temperatures", settings.temperatures}});
  }
  writer.text("README.md", model.model_card);
  if (!model.self_test.texts.empty()) {
    writer.text("self_test.json", self_test_to_json(model.self_test));
  }
  std::vector<HeadSettings> heads;
  for (const HeadToSave& head : model.heads) heads.push_back(head.settings);
  check_heads(heads);
  for (const HeadToSave& head : model.heads) {
    write_head(writer.folder("heads/" + head.settings.name).path(), head.settings,
               settings.embedding_size(), head.weights);
  }
  write_checksums(folder.path());
  folder.commit();
}

}  // namespace simile
