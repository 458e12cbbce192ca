// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/model_folder.h"
#include "simile/model/module_reader.h"

namespace simile {
namespace {

using detail::Json;

constexpr const char* kStaticFolder = "0_StaticEmbedding";

class FolderWriter {
 public:
  explicit FolderWriter(const std::string& path) : folder_(path, "modules.json") {}
  std::string file(const std::string& name) const { return join_path(folder_.path(), name); }
  void text(const std::string& name, const std::string& bytes) {
    write_file_atomic(file(name), bytes);
  }
  void json(const std::string& name, const Json& value) {
    text(name, detail::dump_json(value) + "\n");
  }
  void folder(const std::string& name) { make_folders(file(name)); }
  void commit() { folder_.commit(); }

 private:
  AtomicFolder folder_;
};

// "2_Dense"
std::string module_path(size_t number, ModuleKind kind) {
  return fmt::format("{}_{}", number, module_kind_name(kind));
}

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
  if (settings.encoder.variant.averaged) {
    add(kStaticFolder, "StaticEmbedding");
  } else {
    add("", "Transformer");
    add("1_Pooling", "Pooling");
  }
  for (const ModuleSettings& module : modules_of(settings)) {
    add(module_path(modules.size(), module.kind), module_kind_name(module.kind));
  }
  return modules;
}

void write_modules(const ModelSettings& settings, FolderWriter& writer) {
  size_t number = settings.encoder.variant.averaged ? 1 : 2;
  for (const ModuleSettings& module : modules_of(settings)) {
    const std::string folder = module_path(number++, module.kind);
    writer.folder(folder);
    write_module(writer.file(folder), module);
  }
}

Json pooling_json(const ModelSettings& settings) {
  Json json = {{"word_embedding_dimension", settings.encoder.hidden},
               {"include_prompt", settings.pooling.include_prompt}};
  const std::vector<PoolingMode>& modes = settings.pooling.modes;
  for (const PoolingModeRow& row : pooling_modes()) {
    json[row.flag] = std::find(modes.begin(), modes.end(), row.mode) != modes.end();
  }
  // The older schema's flags have one order and no repeats; the newer one's list says everything.
  if (!std::is_sorted(modes.begin(), modes.end()) ||
      std::adjacent_find(modes.begin(), modes.end()) != modes.end()) {
    for (const PoolingMode mode : modes) json["pooling_mode"].push_back(pooling_mode_name(mode));
  }
  return json;
}

Json sentence_json(const ModelSettings& settings) {
  Json json = {{"__version__", Json::object()},
               {"prompts", settings.prompts},
               {"default_prompt_name", nullptr},
               {"similarity_fn_name", settings.similarity}};
  if (!settings.default_prompt.empty()) json["default_prompt_name"] = settings.default_prompt;
  if (settings.dimensions > 0) json["truncate_dim"] = settings.dimensions;
  return json;
}

const char* torch_type_name(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return "float32";
    case TensorType::kF16:
      return "float16";
    case TensorType::kBf16:
      return "bfloat16";
    case TensorType::kI8:
      return "int8";
    default:
      throw Error(ErrorKind::kUsage,
                  fmt::format("weights are saved as F32, F16, BF16 or I8, not as {}",
                              tensor_type_name(type)));
  }
}

void write_heads(const std::vector<HeadToSave>& heads, int64_t H, FolderWriter& writer) {
  std::vector<HeadSettings> settings;
  for (const HeadToSave& head : heads) settings.push_back(head.settings);
  check_heads(settings);
  for (const HeadToSave& head : heads) {
    const std::string folder = "heads/" + head.settings.name;
    writer.folder(folder);
    write_head(writer.file(folder), head.settings, H, head.weights);
  }
}

// Weights, tokenizer and length limit, and what says how tokens become one vector.
void write_encoder(const ModelSettings& settings, const ModelToSave& model,
                   const TokenizerFiles& tokenizer, FolderWriter& writer) {
  std::string folder;
  if (settings.encoder.variant.averaged) {
    writer.folder(kStaticFolder);
    folder = std::string(kStaticFolder) + "/";
  } else {
    writer.text("config.json",
                encoder_config_to_json(settings.encoder, torch_type_name(model.weight_type)));
    writer.folder("1_Pooling");
    writer.json("1_Pooling/config.json", pooling_json(settings));
  }
  write_encoder_weights(writer.file(folder + "model.safetensors"), settings.encoder, model.weights,
                        model.weight_type, model.other_tensors);
  for (const auto& [name, bytes] : tokenizer) writer.text(folder + name, bytes);
  writer.json(folder + "sentence_bert_config.json",
              {{"max_seq_length", settings.max_length}, {"do_lower_case", settings.lower_case}});
}

}  // namespace

void save_model_folder(const std::string& path, const ModelToSave& model) {
  const ModelSettings& settings = model.settings;
  TokenizerFiles tokenizer = model.tokenizer;
  complete_tokenizer_files(tokenizer, settings.max_length, settings.encoder.types > 1);
  FolderWriter writer(path);
  writer.json("modules.json", modules_json(settings));
  write_encoder(settings, model, tokenizer, writer);
  writer.json("config_sentence_transformers.json", sentence_json(settings));
  write_modules(settings, writer);
  if (!settings.temperatures.empty()) {
    writer.json("simile.json", {{"temperatures", settings.temperatures}});
  }
  writer.text("README.md", model.model_card);
  if (!model.self_test.texts.empty()) {
    writer.text("self_test.json", self_test_to_json(model.self_test));
  }
  write_heads(model.heads, settings.embedding_size(), writer);
  writer.commit();
}

}  // namespace simile
