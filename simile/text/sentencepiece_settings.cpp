// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/sentencepiece_document.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

struct FamilyRow {
  SentencePieceFamily family;
  const char* tokenizer_class;  // without "Fast" at its end
  const char* model_type;
};

const FamilyRow kFamilies[] = {
    {SentencePieceFamily::kXlmRoberta, "XLMRobertaTokenizer", "xlm-roberta"},
    {SentencePieceFamily::kCamembert, "CamembertTokenizer", "camembert"},
    {SentencePieceFamily::kXlnet, "XLNetTokenizer", "xlnet"},
    {SentencePieceFamily::kAlbert, "AlbertTokenizer", "albert"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "t5"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "mt5"},
};

constexpr int64_t kMaxExtraIds = 100000;

SentencePieceFamily family_of_class(const std::string& tokenizer_class, const std::string& path) {
  const std::string name = detail::plain_class_name(tokenizer_class);
  std::string known;
  for (const FamilyRow& row : kFamilies) {
    if (name == row.tokenizer_class) return row.family;
    if (known.find(row.tokenizer_class) == std::string::npos) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.tokenizer_class);
    }
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: a sentencepiece model for tokenizer_class \"{}\" is not supported; "
                          "known are {}; with other models give the folder a tokenizer.json",
                          path, name, known));
}

SentencePieceFamily family_of_config(const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  if (!file_exists(path)) return SentencePieceFamily::kPlain;
  const Json config = detail::read_json(path);
  const std::string type = JsonObject(config, path).text_or("model_type", "");
  for (const FamilyRow& row : kFamilies) {
    if (type == row.model_type) return row.family;
  }
  return SentencePieceFamily::kPlain;
}

void read_more_special_tokens(const JsonObject& config, std::vector<std::string>& tokens) {
  if (!config.has("additional_special_tokens")) return;
  const Json& list = config.at("additional_special_tokens");
  const std::string where = config.source() + ": additional_special_tokens";
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput,
               fmt::format("{} must be a list, but it is {}", where, detail::describe_json(list)));
  for (const Json& item : list) {
    if (item.is_object()) {
      tokens.push_back(JsonObject(item, where).text("content"));
      continue;
    }
    SIMILE_CHECK(
        item.is_string(), ErrorKind::kInput,
        fmt::format("{} must hold texts, but found {}", where, detail::describe_json(item)));
    tokens.push_back(item.get<std::string>());
  }
}

}  // namespace

SentencePieceSettings read_sentencepiece_settings(const std::string& folder) {
  SentencePieceSettings settings;
  const std::string path = join_path(folder, "tokenizer_config.json");
  const Json config = file_exists(path) ? detail::read_json(path) : Json::object();
  const JsonObject object(config, path);
  const std::string class_name = object.text_or("tokenizer_class", "");
  settings.family =
      class_name.empty() ? family_of_config(folder) : family_of_class(class_name, path);
  settings.lowercase =
      object.flag_or("do_lower_case", settings.family == SentencePieceFamily::kAlbert);
  settings.keep_accents = object.flag_or("keep_accents", false);
  settings.legacy = object.flag_or("legacy", true);
  settings.extra_ids = object.integer_or("extra_ids", settings.extra_ids, 0, kMaxExtraIds);
  read_more_special_tokens(object, settings.more_special_tokens);
  return settings;
}

}  // namespace simile
