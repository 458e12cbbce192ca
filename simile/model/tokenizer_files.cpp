// SPDX-License-Identifier: Apache-2.0
#include "simile/model/tokenizer_files.h"

#include <algorithm>
#include <set>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using detail::Json;

struct SpecialRole {
  const char* role;
  std::vector<const char*> names;  // the first there is; BERT's come first
};

const std::vector<SpecialRole> kRoles = {{"unk_token", {"[UNK]", "<unk>"}},
                                         {"sep_token", {"[SEP]", "</s>", "<sep>"}},
                                         {"pad_token", {"[PAD]", "<pad>"}},
                                         {"cls_token", {"[CLS]", "<s>", "<cls>"}},
                                         {"mask_token", {"[MASK]", "<mask>"}}};

const Json* find_vocabulary(const Json& tokenizer) {
  if (!tokenizer.is_object() || !tokenizer.contains("model")) return nullptr;
  const Json& model = tokenizer["model"];
  if (!model.is_object() || !model.contains("type") || model["type"] != "WordPiece") return nullptr;
  if (!model.contains("vocab") || !model["vocab"].is_object()) return nullptr;
  return &model["vocab"];
}

// Lines by id; ids must be 0 .. n-1, as vocab.txt can say nothing else.
std::string vocabulary_text(const Json& vocabulary) {
  std::vector<std::string> tokens(vocabulary.size());
  for (const auto& [token, id] : vocabulary.items()) {
    const bool fits = id.is_number_unsigned() && id.get<uint64_t>() < tokens.size();
    SIMILE_CHECK(fits && tokens[id.get<size_t>()].empty(), ErrorKind::kInput,
                 "tokenizer.json: the id of '{}' is {}; ids must be 0 to {} without "
                 "gaps or repeats",
                 token, detail::describe_json(id), tokens.size() - 1);
    tokens[id.get<size_t>()] = token;
  }
  std::string text;
  for (const std::string& token : tokens) text += token + "\n";
  return text;
}

bool normalizer_lower_cases(const Json& normalizer) {
  if (!normalizer.is_object()) return false;
  if (normalizer.value("type", Json()) == "Lowercase") return true;
  const auto steps = normalizer.find("normalizers");
  if (steps != normalizer.end() && steps->is_array()) {
    return std::any_of(steps->begin(), steps->end(), normalizer_lower_cases);
  }
  return normalizer.value("lowercase", Json()) == true;
}

bool lower_cases(const Json& tokenizer) {
  return tokenizer.is_object() && normalizer_lower_cases(tokenizer.value("normalizer", Json()));
}

// The special tokens among the added ones, by role; of a vocabulary also its own.
Json special_tokens(const Json& tokenizer, const Json* vocabulary) {
  std::set<std::string> known;
  if (tokenizer.is_object() && tokenizer.contains("added_tokens")) {
    for (const Json& token : tokenizer["added_tokens"]) {
      if (token.is_object() && token.contains("content") && token["content"].is_string()) {
        known.insert(token["content"].get<std::string>());
      }
    }
  }
  Json tokens = Json::object();
  for (const SpecialRole& role : kRoles) {
    for (const char* name : role.names) {
      if (known.count(name) == 0 && (!vocabulary || !vocabulary->contains(name))) continue;
      tokens[role.role] = name;
      break;
    }
  }
  return tokens;
}

}  // namespace

const std::vector<std::string>& tokenizer_file_names() {
  static const std::vector<std::string> names = {"tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.txt",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "sentencepiece.bpe.model",
                                                 "spiece.model",
                                                 "tokenizer.model",
                                                 "bpe.codes"};
  return names;
}

TokenizerFiles read_tokenizer_files(const std::string& folder) {
  TokenizerFiles files;
  for (const std::string& name : tokenizer_file_names()) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) files[name] = read_file(path);
  }
  return files;
}

bool tokenizer_lower_cases(const std::string& folder) {
  const std::string tokenizer = join_path(folder, "tokenizer.json");
  if (file_exists(tokenizer)) return lower_cases(detail::read_json(tokenizer));
  const std::string config = join_path(folder, "tokenizer_config.json");
  if (!file_exists(config)) return false;
  const Json parsed = detail::read_json(config);
  return detail::JsonObject(parsed, config).flag_or("do_lower_case", false);
}

void complete_tokenizer_files(TokenizerFiles& files, int64_t max_length, bool token_types) {
  Json config = Json::object();
  if (files.count("tokenizer_config.json") != 0) {
    config = detail::parse_json(files["tokenizer_config.json"], "tokenizer_config.json");
    SIMILE_CHECK(config.is_object(), ErrorKind::kInput,
                 "tokenizer_config.json: expected a JSON object");
  }
  if (files.count("tokenizer.json") != 0) {
    const Json tokenizer = detail::parse_json(files["tokenizer.json"], "tokenizer.json");
    const Json* vocabulary = find_vocabulary(tokenizer);
    const Json special = special_tokens(tokenizer, vocabulary);
    if (vocabulary && files.count("vocab.txt") == 0) {
      files["vocab.txt"] = vocabulary_text(*vocabulary);
    }
    if (files.count("special_tokens_map.json") == 0) {
      files["special_tokens_map.json"] = detail::dump_json(special) + "\n";
    }
    if (!config.contains("tokenizer_class")) {
      bool bert = vocabulary && special.contains("cls_token") && special.contains("sep_token");
      for (const SpecialRole& role : kRoles) {
        bert = bert && special.value(role.role, role.names[0]) == role.names[0];
      }
      config["tokenizer_class"] = bert ? "BertTokenizer" : "PreTrainedTokenizerFast";
      if (bert) config["do_lower_case"] = lower_cases(tokenizer);
      for (const auto& [role, name] : special.items()) {
        if (!config.contains(role)) config[role] = name;
      }
    }
  }
  if (!token_types && !config.contains("model_input_names")) {
    config["model_input_names"] = {"input_ids", "attention_mask"};
  }
  config["model_max_length"] = max_length;
  files["tokenizer_config.json"] = detail::dump_json(config) + "\n";
}

}  // namespace simile
