// SPDX-License-Identifier: Apache-2.0
#include "simile/model/joined_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/model/detail/folder_config.h"
#include "simile/model/tensor_source.h"

namespace simile {
namespace {

[[noreturn]] void refuse(const ModelFolder& part, const std::string& what,
                         const std::string& instead) {
  throw_error(ErrorKind::kInput, "'{}' cannot be a part of a joined model: it {}; {}", part.path,
              what, instead);
}

// A part gives its pooled vector, and nothing comes after it but Normalize.
void check_part(const ModelFolder& part) {
  const ModelSettings& settings = part.settings;
  if (settings.encoder.is_joined()) {
    refuse(part, "is a joined model itself",
           "join its parts, which are model folders of their own inside it");
  }
  if (!settings.modules.empty()) {
    refuse(
        part,
        fmt::format("has the module {} after pooling", module_kind_name(settings.modules[0].kind)),
        "join a model without it, or one that has it folded into its weights");
  }
  if (settings.dimensions > 0 && settings.dimensions < settings.embedding_size()) {
    refuse(part,
           fmt::format("keeps {} of its {} dimensions (\"truncate_dim\")", settings.dimensions,
                       settings.embedding_size()),
           "remove \"truncate_dim\" from its config_sentence_transformers.json, or shorten its "
           "vectors for good");
  }
  if (!settings.pooling.include_prompt && !settings.prompts.empty()) {
    refuse(part, "leaves its prompts out of pooling (\"include_prompt\" false)",
           "set \"include_prompt\" to true, or remove the prompts");
  }
}

void check_agree(const ModelFolder& a, const ModelFolder& b) {
  const auto check = [&](bool agrees, const char* what, const char* instead) {
    SIMILE_CHECK(agrees, ErrorKind::kInput, "'{}' and '{}' cannot be joined: {}; {}", a.path,
                 b.path, what, instead);
  };
  const ModelSettings &x = a.settings, &y = b.settings;
  check(x.prompts == y.prompts && x.default_prompt == y.default_prompt, "their prompts differ",
        "one text is read by both, so give both the same \"prompts\" and \"default_prompt_name\" "
        "in config_sentence_transformers.json, or remove them");
  check(x.similarity == y.similarity, "their \"similarity_fn_name\" differs",
        "set it to the same value in both config_sentence_transformers.json");
  check(x.lower_case == y.lower_case, "one lower-cases texts (\"do_lower_case\") and one does not",
        "set it to the same value in both sentence_bert_config.json");
}

}  // namespace

ModelSettings joined_settings(const std::vector<ModelPart>& parts, int64_t closing_tokens,
                              const std::string& source) {
  std::vector<PartConfig> configs;
  int64_t max_length = 0;
  for (const ModelPart& part : parts) {
    const ModelSettings& settings = part.folder.settings;
    check_part(part.folder);
    check_agree(parts.front().folder, part.folder);
    configs.push_back({settings.encoder, settings.pooling.modes, settings.max_length, part.weight});
    max_length = std::max(max_length, settings.max_length);
  }
  ModelSettings joined;
  joined.encoder = joined_encoder_config(std::move(configs), closing_tokens, source);
  joined.pooling.modes.clear();
  joined.max_length = max_length;
  const ModelSettings& first = parts.front().folder.settings;
  joined.lower_case = first.lower_case;
  joined.prompts = first.prompts;
  joined.default_prompt = first.default_prompt;
  joined.similarity = first.similarity;
  return joined;
}

ModelSettings settings_of_part(const ModelSettings& joined, size_t number) {
  const PartConfig& part = joined.encoder.parts[number];
  ModelSettings settings;
  settings.encoder = part.encoder;
  settings.pooling.modes = part.pooling;
  settings.max_length = std::min(part.max_length, joined.max_length);
  settings.lower_case = joined.lower_case;
  settings.prompts = joined.prompts;
  settings.default_prompt = joined.default_prompt;
  settings.similarity = joined.similarity;
  return settings;
}

namespace {

using detail::describe_json;
using detail::Json;
using detail::JsonObject;

constexpr int64_t kMostClosing = 16;

}  // namespace

JoinedList read_joined_list(const std::string& path) {
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  detail::check_keys(parsed, path, {"parts", "closing_tokens"});
  JoinedList list;
  list.closing_tokens = json.integer("closing_tokens", 0, kMostClosing);
  const Json& parts = json.at("parts");
  SIMILE_CHECK(parts.is_array(), ErrorKind::kInput,
               "{}: \"parts\" must be a list of {{\"path\": ..., \"weight\": ...}}, but it is {}",
               path, describe_json(parts));
  for (const Json& item : parts) {
    const JsonObject part(item, path);
    detail::check_keys(item, path, {"path", "weight"});
    part.at("weight");  // it must be there
    list.parts.push_back({part.text("path"), part.number_or("weight", 0, 0, 1e300)});
    SIMILE_CHECK(!list.parts.back().folder.empty(), ErrorKind::kInput,
                 "{}: the \"path\" of part {} is empty; expected the name of a folder", path,
                 list.parts.size() - 1);
    detail::check_inside(list.parts.back().folder, path);
  }
  return list;
}

std::string joined_list_to_json(const JoinedList& list) {
  Json parts = Json::array();
  for (const JoinedPart& part : list.parts) {
    parts.push_back({{"path", part.folder}, {"weight", part.weight}});
  }
  return detail::dump_json({{"parts", std::move(parts)}, {"closing_tokens", list.closing_tokens}}) +
         "\n";
}

bool is_joined_list(const std::string& weights_path) {
  return weights_path == kJoinedList || ends_with(weights_path, std::string("/") + kJoinedList);
}

std::vector<std::string> joined_weights(const std::string& path) {
  std::vector<std::string> weights;
  for (const JoinedPart& part : read_joined_list(path).parts) {
    std::string folder = join_path(path.substr(0, path.rfind('/')), part.folder);
    const std::string modules = join_path(folder, "modules.json");
    if (file_exists(modules)) {
      folder = join_path(folder, detail::read_module_list(modules)[0].folder);
    }
    weights.push_back(find_weights(folder));
  }
  return weights;
}

}  // namespace simile
