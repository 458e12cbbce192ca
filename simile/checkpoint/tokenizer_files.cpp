// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/tokenizer_files.h"

#include <fmt/format.h>

#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using detail::Json;

const char* const kNames[] = {"tokenizer.json",
                              "tokenizer_config.json",
                              "special_tokens_map.json",
                              "added_tokens.json",
                              "vocab.txt",
                              "vocab.json",
                              "merges.txt",
                              "sentencepiece.bpe.model"};

struct SpecialToken {
  const char* role;
  const char* text;
};

constexpr SpecialToken kBertTokens[] = {{"unk_token", "[UNK]"},
                                        {"sep_token", "[SEP]"},
                                        {"pad_token", "[PAD]"},
                                        {"cls_token", "[CLS]"},
                                        {"mask_token", "[MASK]"}};

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
                 fmt::format("tokenizer.json: the id of '{}' is {}; ids must be 0 to {} without "
                             "gaps or repeats",
                             token, detail::describe_json(id), tokens.size() - 1));
    tokens[id.get<size_t>()] = token;
  }
  std::string text;
  for (const std::string& token : tokens) text += token + "\n";
  return text;
}

bool lower_cases(const Json& tokenizer) {
  const auto normalizer = tokenizer.find("normalizer");
  if (normalizer == tokenizer.end() || !normalizer->is_object()) return false;
  const auto lowercase = normalizer->find("lowercase");
  return lowercase != normalizer->end() && lowercase->is_boolean() && lowercase->get<bool>();
}

Json special_tokens(const Json& vocabulary) {
  Json tokens = Json::object();
  for (const SpecialToken& token : kBertTokens) {
    if (vocabulary.contains(token.text)) tokens[token.role] = token.text;
  }
  return tokens;
}

}  // namespace

TokenizerFiles read_tokenizer_files(const std::string& folder) {
  TokenizerFiles files;
  for (const char* name : kNames) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) files[name] = read_file(path);
  }
  return files;
}

void complete_tokenizer_files(TokenizerFiles& files, int64_t max_length) {
  Json config = Json::object();
  if (files.count("tokenizer_config.json") != 0) {
    config = detail::parse_json(files["tokenizer_config.json"], "tokenizer_config.json");
    SIMILE_CHECK(config.is_object(), ErrorKind::kInput,
                 "tokenizer_config.json: expected a JSON object");
  }
  if (files.count("tokenizer.json") != 0) {
    const Json tokenizer = detail::parse_json(files["tokenizer.json"], "tokenizer.json");
    if (const Json* vocabulary = find_vocabulary(tokenizer)) {
      const Json special = special_tokens(*vocabulary);
      if (files.count("vocab.txt") == 0) files["vocab.txt"] = vocabulary_text(*vocabulary);
      if (files.count("special_tokens_map.json") == 0) {
        files["special_tokens_map.json"] = detail::dump_json(special) + "\n";
      }
      if (!config.contains("tokenizer_class")) {
        config["tokenizer_class"] = "BertTokenizer";
        config["do_lower_case"] = lower_cases(tokenizer);
        config.update(special);
      }
    }
  }
  config["model_max_length"] = max_length;
  files["tokenizer_config.json"] = detail::dump_json(config) + "\n";
}

}  // namespace simile
