// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/joined_model.h"
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
  const auto add = [&modules](const std::string& path, const std::string& type,
                              const char* package = "sentence_transformers.models") {
    const auto number = static_cast<int64_t>(modules.size());
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", path},
                       {"type", fmt::format("{}.{}", package, type)}});
  };
  if (settings.encoder.is_joined()) {
    add(kJoinedFolder, "Joined", "simile");
  } else if (settings.encoder.variant.averaged) {
    const bool own = settings.encoder.variant.weighs_tokens();
    add(kStaticFolder, "StaticEmbedding", own ? "simile" : "sentence_transformers.models");
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
  // What sentence-transformers 2.2 does not know is written only where it says something.
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

// An encoder's weights and how they are stored.
struct StoredEncoder {
  const float* weights;
  TensorType type;
  const std::vector<TensorView>& others;
};

// Weights, tokenizer and length limit, and what says how tokens become one vector.
void write_encoder(const ModelSettings& settings, const StoredEncoder& encoder,
                   TokenizerFiles tokenizer, const FolderWriter& model) {
  const TensorType types[] = {TensorType::kF32, TensorType::kF16, TensorType::kBf16,
                              TensorType::kI8};
  SIMILE_CHECK(std::count(std::begin(types), std::end(types), encoder.type) > 0, ErrorKind::kUsage,
               "weights are saved as F32, F16, BF16 or I8, not as {}",
               tensor_type_name(encoder.type));
  complete_tokenizer_files(tokenizer, settings.max_length, settings.encoder.types > 1);
  const bool is_static = settings.encoder.variant.averaged;
  const FolderWriter writer = is_static ? model.folder(kStaticFolder) : model;
  if (!is_static) {
    writer.text("config.json", encoder_config_to_json(settings.encoder));
    writer.folder("1_Pooling").json("config.json", pooling_json(settings));
  }
  if (settings.encoder.variant.weighs_tokens()) {
    writer.text(kTokenWeights, token_weights_to_json(settings.encoder));
  }
  write_encoder_weights(writer.file(weight_file_name(encoder.type)), settings.encoder,
                        encoder.weights, encoder.type, encoder.others);
  for (const auto& [name, bytes] : tokenizer) writer.text(name, bytes);
  writer.json("sentence_bert_config.json",
              {{"max_seq_length", settings.max_length}, {"do_lower_case", settings.lower_case}});
}

// What sentence-transformers needs of a model whose encoder lies in `folder` already.
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

// Each part as a model folder of its own.
void write_parts(const ModelToSave& model, const FolderWriter& writer) {
  const EncoderConfig& joined = model.settings.encoder;
  const std::vector<int64_t> offsets = part_offsets(joined.shape());
  JoinedList list{{}, joined.closing_tokens};
  for (size_t i = 0; i < joined.parts.size(); ++i) {
    list.parts.push_back({std::to_string(i), joined.parts[i].weight});
    const PartToSave part =
        model.parts.empty() ? PartToSave{model.weight_type, {}} : model.parts[i];
    const ModelSettings settings = settings_of_part(model.settings, i);
    const FolderWriter folder = writer.folder(list.parts.back().folder);
    write_encoder(settings, {model.weights + offsets[i], part.weight_type, {}}, model.tokenizer,
                  folder);
    write_sentence_files(settings, folder);
    for (const auto& [name, bytes] : part.files) folder.text(name, bytes);
    write_checksums(folder.path());
  }
  writer.text(kJoinedList, joined_list_to_json(list));
  writer.json("sentence_bert_config.json", {{"max_seq_length", model.settings.max_length}});
}

}  // namespace

void save_model_folder(const std::string& path, const ModelToSave& model) {
  const ModelSettings& settings = model.settings;
  AtomicFolder folder(path, "modules.json");
  const FolderWriter writer(folder.path());
  if (settings.encoder.is_joined()) {
    write_parts(model, writer.folder(kJoinedFolder));
  } else {
    write_encoder(settings, {model.weights, model.weight_type, model.other_tensors},
                  model.tokenizer, writer);
  }
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
