// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "simile/checkpoint/model_folder.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using detail::Json;

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

Json modules_json(bool normalize) {
  Json modules = Json::array();
  const auto add = [&modules](const std::string& path, const std::string& type) {
    const auto number = static_cast<int64_t>(modules.size());
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", path},
                       {"type", "sentence_transformers.models." + type}});
  };
  add("", "Transformer");
  add("1_Pooling", "Pooling");
  if (normalize) add("2_Normalize", "Normalize");
  return modules;
}

Json pooling_json(const ModelSettings& settings) {
  return {{"word_embedding_dimension", settings.encoder.hidden},
          {"pooling_mode_cls_token", settings.pooling == PoolingMode::kCls},
          {"pooling_mode_mean_tokens", settings.pooling == PoolingMode::kMean},
          {"pooling_mode_max_tokens", settings.pooling == PoolingMode::kMax},
          {"pooling_mode_mean_sqrt_len_tokens", false},
          {"pooling_mode_weightedmean_tokens", false},
          {"pooling_mode_lasttoken", false},
          {"include_prompt", true}};
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
    default:
      throw Error(ErrorKind::kUsage, fmt::format("weights are saved as F32, F16 or BF16, not as {}",
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

}  // namespace

void save_model_folder(const std::string& path, const ModelToSave& model) {
  const ModelSettings& settings = model.settings;
  TokenizerFiles tokenizer = model.tokenizer;
  complete_tokenizer_files(tokenizer, settings.max_length);
  FolderWriter writer(path);
  writer.json("modules.json", modules_json(settings.normalize));
  writer.text("config.json",
              encoder_config_to_json(settings.encoder, torch_type_name(model.weight_type)));
  write_encoder_weights(writer.file("model.safetensors"), settings.encoder, model.weights,
                        model.weight_type);
  for (const auto& [name, bytes] : tokenizer) writer.text(name, bytes);
  writer.json("sentence_bert_config.json",
              {{"max_seq_length", settings.max_length}, {"do_lower_case", false}});
  writer.json("config_sentence_transformers.json", sentence_json(settings));
  writer.folder("1_Pooling");
  writer.json("1_Pooling/config.json", pooling_json(settings));
  if (settings.normalize) writer.folder("2_Normalize");
  if (!settings.temperatures.empty()) {
    writer.json("simile.json", {{"temperatures", settings.temperatures}});
  }
  writer.text("README.md", model.model_card);
  if (!model.self_test.texts.empty()) {
    writer.text("self_test.json", self_test_to_json(model.self_test));
  }
  write_heads(model.heads, settings.encoder.hidden, writer);
  writer.commit();
}

}  // namespace simile
