// SPDX-License-Identifier: Apache-2.0
#include "simile/model/tokenizer_files.h"

#include <set>

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

// Whether the class BertTokenizer, which builds its own parts, builds these.
bool has_parts_of_bert(const Json& tokenizer) {
  const Json normalizer = tokenizer.value("normalizer", Json());
  const Json pre_tokenizer = tokenizer.value("pre_tokenizer", Json());
  const Json around = tokenizer.value("post_processor", Json());
  const Json& model = tokenizer["model"];
  const Json cls = {{"SpecialToken", {{"id", "[CLS]"}, {"type_id", 0}}}};
  const Json sep = {{"SpecialToken", {{"id", "[SEP]"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return normalizer.is_object() && normalizer.value("type", Json()) == "BertNormalizer" &&
         normalizer.value("clean_text", Json(true)) == true && pre_tokenizer.is_object() &&
         pre_tokenizer.value("type", Json()) == "BertPreTokenizer" && around.is_object() &&
         (around.value("type", Json()) == "BertProcessing" ||
          around.value("single", Json()) == Json::array({cls, text, sep})) &&
         model.value("unk_token", Json()) == "[UNK]" &&
         model.value("continuing_subword_prefix", Json("##")) == "##" &&
         model.value("max_input_chars_per_word", Json(100)) == 100;
}

// Lines by id; empty if ids have gaps, which vocab.txt cannot express.
std::string vocabulary_text(const Json& vocabulary) {
  std::map<uint64_t, std::string> tokens;
  for (const auto& [token, id] : vocabulary.items()) {
    SIMILE_CHECK(id.is_number_unsigned() && tokens.emplace(id.get<uint64_t>(), token).second,
                 ErrorKind::kInput,
                 "tokenizer.json: the id of '{}' is {}; expected a whole number of its own", token,
                 detail::describe_json(id));
  }
  std::string text;
  for (const auto& [id, token] : tokens) text += token + "\n";
  return tokens.empty() || tokens.rbegin()->first + 1 != tokens.size() ? "" : text;
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
    const std::string lines = vocabulary ? vocabulary_text(*vocabulary) : "";
    if (!lines.empty() && files.count("vocab.txt") == 0) files["vocab.txt"] = lines;
    if (files.count("special_tokens_map.json") == 0) {
      files["special_tokens_map.json"] = detail::dump_json(special) + "\n";
    }
    if (!config.contains("tokenizer_class")) {
      const Json normalizer = tokenizer.value("normalizer", Json());
      bool bert = vocabulary && special.contains("cls_token") && special.contains("sep_token") &&
                  has_parts_of_bert(tokenizer);
      for (const SpecialRole& role : kRoles) {
        bert = bert && special.value(role.role, role.names[0]) == role.names[0];
      }
      config["tokenizer_class"] = bert ? "BertTokenizer" : "PreTrainedTokenizerFast";
      if (bert) {  // the class takes these from here
        config["do_lower_case"] = normalizer.value("lowercase", Json(true));
        config["strip_accents"] = normalizer.value("strip_accents", Json());
        config["tokenize_chinese_chars"] = normalizer.value("handle_chinese_chars", Json(true));
      }
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
