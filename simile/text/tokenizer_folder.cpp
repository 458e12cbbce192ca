// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/tokenizer_document.h"

namespace simile::detail {
namespace {

// Classes with rules in Python (MeCab, jieba ...), which count even beside a tokenizer.json.
constexpr const char* kOwnSplitting[] = {
    "BertJapaneseTokenizer", "BertTokenizerLegacy", "BertweetTokenizer",  "BioGptTokenizer",
    "ByT5Tokenizer",         "CanineTokenizer",     "CTRLTokenizer",      "EsmTokenizer",
    "FlaubertTokenizer",     "FSMTTokenizer",       "PerceiverTokenizer", "PhobertTokenizer",
    "ProphetNetTokenizer",   "RoCBertTokenizer",    "RoFormerTokenizer",  "TapasTokenizer",
    "XLMTokenizer"};

// The class that transformers takes for a model where no file names one.
constexpr std::pair<const char*, const char*> kModelClasses[] = {
    {"bert", "BertTokenizer"},           {"distilbert", "BertTokenizer"},
    {"electra", "BertTokenizer"},        {"nomic_bert", "BertTokenizer"},
    {"convbert", "BertTokenizer"},       {"mpnet", "MPNetTokenizer"},
    {"roberta", "RobertaTokenizer"},     {"xlm-roberta", "XLMRobertaTokenizer"},
    {"camembert", "CamembertTokenizer"}, {"albert", "AlbertTokenizer"}};

// The special tokens that have a name, in the order in which transformers adds them.
constexpr const char* kNamed[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

// More special tokens; the first that lists any counts.
constexpr const char* kMore[] = {"extra_special_tokens", "additional_special_tokens"};

Json read_object(const std::string& path) {
  if (!file_exists(path)) return Json::object();
  Json object = read_json(path);
  SIMILE_CHECK(object.is_object(), ErrorKind::kInput, "{}: expected a JSON object, but it is {}",
               path, describe_json(object));
  return object;
}

// A token given as its text or as an object with flags.
AddedToken read_token(const Json& value, const std::string& where) {
  AddedToken token;
  token.id = -1;
  if (value.is_string()) {
    token.content = value.get<std::string>();
    token.special = true;
    return token;
  }
  SIMILE_CHECK(value.is_object(), ErrorKind::kInput,
               "{} must be a token's text or an object with \"content\", but it is {}", where,
               describe_json(value));
  const JsonObject object(value, where);
  token.content = object.text("content");
  token.special = object.flag_or("special", false);
  token.single_word = object.flag_or("single_word", false);
  token.lstrip = object.flag_or("lstrip", false);
  token.rstrip = object.flag_or("rstrip", false);
  token.normalized = object.flag_or("normalized", !token.special);
  return token;
}

std::string class_of(const Json& settings, const std::string& source, const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  const Json config = read_object(path);
  const JsonObject model(config, path);
  const std::string type = model.text_or("model_type", "");
  if (type == "modernbert") return "";  // whatever class the folder names
  for (const JsonObject& json : {JsonObject(settings, source), model}) {
    const std::string name = read_tokenizer_class(json);
    if (!name.empty()) return name;
  }
  for (const auto& [model_type, name] : kModelClasses) {
    if (type == model_type) return name;
  }
  return "";
}

void check_settings(const TokenizerFolder& folder) {
  const JsonObject json(folder.settings, folder.source);
  for (const char* name : kOwnSplitting) {
    SIMILE_CHECK(folder.name != name, ErrorKind::kInput,
                 "{}: tokenizer_class \"{}\" splits texts by Python code of its own (such as "
                 "MeCab), which Simile does not have; use a model of another class",
                 folder.source, name);
  }
  SIMILE_CHECK(!json.flag_or("split_special_tokens", false), ErrorKind::kInput,
               "{}: \"split_special_tokens\" is true, which is not supported: Simile finds special "
               "tokens in texts; set it to false",
               folder.source);
  const std::string side = json.text_or("truncation_side", "right");
  SIMILE_CHECK(side == "left" || side == "right", ErrorKind::kInput,
               "{}: \"truncation_side\" is \"{}\"; expected \"left\" or \"right\"", folder.source,
               side);
  if (json.has("fast_tokenizer_files")) {
    SIMILE_CHECK(json.at("fast_tokenizer_files") == Json::array({"tokenizer.json"}),
                 ErrorKind::kInput,
                 "{}: \"fast_tokenizer_files\" is {}; only tokenizer.json is supported: rename the "
                 "newest of these files to tokenizer.json and remove the key",
                 folder.source, json.at("fast_tokenizer_files").dump());
  }
  const bool has_code = json.has("auto_map") && (!json.at("auto_map").is_object() ||
                                                 json.at("auto_map").contains("AutoTokenizer"));
  const bool is_known = folder.is_rebuilt() || folder.name == "PreTrainedTokenizer";
  SIMILE_CHECK(!has_code || is_known, ErrorKind::kInput,
               "{}: \"auto_map\" names Python code of the model's own for its tokenizer (class "
               "\"{}\"), which Simile does not run; use a model with a tokenizer of transformers",
               folder.source, folder.name);
}

// Whether the newer key lists all tokens; transformers then leaves the other files unread.
bool is_listed(const TokenizerFolder& folder) {
  return JsonObject(folder.settings, folder.source).has("added_tokens_decoder");
}

int32_t read_id(const Json& id, const std::string& where) {
  SIMILE_CHECK(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= kMaxId,
               ErrorKind::kInput, "{}: the id of a token must be 0 to {}, but it is {}", where,
               kMaxId, describe_json(id));
  return id.get<int32_t>();
}

// Tokens with the ids in a file, which decide their order: of added_tokens_decoder, else those of
// added_tokens.json, special where they are among `special`.
std::map<int32_t, AddedToken> read_numbered(const TokenizerFolder& folder, const std::string& path,
                                            const std::set<std::string>& special) {
  std::map<int32_t, AddedToken> tokens;
  if (is_listed(folder)) {
    const std::string where = folder.source + ": added_tokens_decoder";
    const Json& decoder = folder.settings["added_tokens_decoder"];
    for (const auto& item : JsonObject(decoder, where).json().items()) {
      const Json number = Json::parse(item.key(), nullptr, false);
      const int32_t id = read_id(number.is_discarded() ? Json(item.key()) : number, where);
      tokens[id] = read_token(item.value(), where);
      tokens[id].id = id;
    }
    return tokens;
  }
  const Json encoder = read_object(path);
  for (const auto& item : encoder.items()) {
    const int32_t id = read_id(item.value(), path + ": " + item.key());
    const bool is_special = special.count(item.key()) > 0;
    tokens[id] = {item.key(), id, is_special};
    tokens[id].normalized = !is_special;
  }
  return tokens;
}

std::vector<AddedToken> read_token_list(const TokenizerFolder& folder, const char* key) {
  std::vector<AddedToken> tokens;
  const std::string where = fmt::format("{}: \"{}\"", folder.source, key);
  const Json list = folder.settings.value(key, Json());
  SIMILE_CHECK(list.is_array() || list.is_object() || list.is_null(), ErrorKind::kInput,
               "{} must be a list, but it is {}", where, describe_json(list));
  for (const Json& item : list) tokens.push_back(read_token(item, where));
  return tokens;
}

// Named special tokens, then those whose names only the model knows, then the rest.
std::vector<AddedToken> read_special(const TokenizerFolder& folder, bool beside_document) {
  std::vector<AddedToken> tokens;
  const Json& settings = folder.settings;
  for (const char* key : kNamed) {
    const Json given = settings.value(key, Json());
    const bool is_object = given.is_object();
    tokens.push_back(
        read_token(is_object ? given : Json(folder.token(key)), folder.source + ": " + key));
    // In these classes a mask takes the white space before it.
    const bool strips =
        folder.kind == TokenizerKind::kMpnet || folder.kind == TokenizerKind::kCamembert;
    tokens.back().lstrip |= strips && ends_with(key, "mask_token") && !is_object;
  }
  for (const auto& item : settings.items()) {
    const bool is_named =
        std::find(std::begin(kNamed), std::end(kNamed), item.key()) != std::end(kNamed);
    const bool is_token = item.value().is_string() || item.value().is_object();
    if (is_named || !is_token || !ends_with(item.key(), "_token")) continue;
    tokens.push_back(read_token(item.value(), folder.source + ": " + item.key()));
  }
  for (const char* key : kMore) {
    const std::vector<AddedToken> more = read_token_list(folder, key);
    tokens.insert(tokens.end(), more.begin(), more.end());
    if (!more.empty()) break;
  }
  const bool has_more = settings.contains(kMore[0]) || settings.contains(kMore[1]);
  if (folder.kind == TokenizerKind::kCamembert && beside_document && !has_more) {
    for (const char* name : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) {
      tokens.push_back(read_token(name, folder.source));
    }
  }
  for (AddedToken& token : tokens) token.special = true;
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(),
                              [](const AddedToken& token) { return token.content.empty(); }),
               tokens.end());
  return tokens;
}

}  // namespace

std::string TokenizerFolder::token(const char* key) const {
  const std::map<std::string, std::string> defaults = default_tokens(kind);
  const auto found = defaults.find(key);
  return read_token_name(JsonObject(settings, source), key,
                         found == defaults.end() ? "" : found->second);
}

const std::vector<const char*>& sentence_file_names() {
  static const std::vector<const char*> names = {
      "sentence_bert_config.json",       "sentence_roberta_config.json",
      "sentence_distilbert_config.json", "sentence_camembert_config.json",
      "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
      "sentence_xlnet_config.json"};
  return names;
}

TokenizerFolder read_tokenizer_folder(const std::string& folder, const std::string& fallback) {
  TokenizerFolder read;
  read.source = join_path(folder, "tokenizer_config.json");
  read.settings = read_object(read.source);
  read.name = class_of(read.settings, read.source, folder);
  if (read.name.empty()) read.name = fallback;
  read.kind = tokenizer_kind(read.name);
  check_settings(read);
  for (const char* name : sentence_file_names()) {
    const std::string path = join_path(folder, name);
    if (!file_exists(path)) continue;
    const Json sentences = read_object(path);
    read.lower_case = JsonObject(sentences, path).flag_or("do_lower_case", false);
    break;
  }
  std::set<std::string> special;  // as far as added_tokens.json goes by it
  for (const char* key : kMore) {
    for (const AddedToken& token : read_token_list(read, key)) special.insert(token.content);
  }
  const Json before = read.settings;
  const Json map =
      is_listed(read) ? Json::object() : read_object(join_path(folder, "special_tokens_map.json"));
  for (const auto& item : map.items()) {
    const bool has_more = before.contains(kMore[0]) || before.contains(kMore[1]);
    if (item.key() == kMore[1] && has_more) continue;
    Json value = item.value();
    for (const char* key : kMore) {  // these come behind the others
      const Json list = before.value(key, Json());
      if (item.key() != kMore[0] || !value.is_array() || !list.is_array()) continue;
      value.insert(value.begin(), list.begin(), list.end());
    }
    read.settings[item.key()] = value;
  }
  const bool beside_document = file_exists(join_path(folder, "tokenizer.json"));
  const std::vector<AddedToken> named = read_special(read, beside_document);
  for (const char* key : kNamed) {
    const Json token = read.settings.value(key, Json());
    if (!token.is_null()) special.insert(read_token(token, read.source).content);
  }
  for (auto& [id, token] : read_numbered(read, join_path(folder, "added_tokens.json"), special)) {
    token.special |= std::any_of(named.begin(), named.end(),
                                 [&, &content = token.content](const AddedToken& other) {
                                   return other.content == content;
                                 });
    read.tokens.push_back({token, false, true});
  }
  for (const AddedToken& token : named) {
    const bool is_object = std::any_of(std::begin(kNamed), std::end(kNamed), [&](const char* key) {
      return read.settings.value(key, Json()).is_object() && read.token(key) == token.content;
    });
    read.tokens.push_back({token, true, is_object && !beside_document});
  }
  return read;
}

void check_reads_vocabulary(const TokenizerFolder& folder) {
  SIMILE_CHECK(folder.is_bert(), ErrorKind::kInput,
               "{}: tokenizer_class \"{}\" with vocab.txt is not supported; known are {}. Save the "
               "tokenizer as tokenizer.json",
               folder.source, folder.name,
               fmt::join(tokenizer_classes(TokenizerKind::kBert), ", "));
}

void warn_of_ignored(const TokenizerFolder& folder, EventSink& events) {
  const JsonObject json(folder.settings, folder.source);
  const bool keeps_words = json.has("never_split") && !json.at("never_split").empty();
  if (folder.is_bert() && (keeps_words || !json.flag_or("do_basic_tokenize", true))) {
    events.warning(
        fmt::format("{}: \"never_split\" and \"do_basic_tokenize\" are ignored, as the fast "
                    "tokenizers of transformers do",
                    folder.source));
  }
}

void add_tokens(const TokenizerFolder& folder, std::vector<AddedToken>& added) {
  // Ids of added_tokens.json that tokenizer.json gives to a token of its own are not followed.
  // Where all tokens are listed, classes that are rebuilt number those first.
  std::set<int32_t> taken;
  std::vector<AddedToken> later;
  if (!folder.settings.contains("added_tokens_decoder")) {
    for (const AddedToken& token : added) taken.insert(token.id);
  } else if (folder.is_rebuilt()) {
    added.swap(later);
  }
  const auto add = [&](const TokenizerFolder::Token& token) {
    const auto known = std::find_if(added.begin(), added.end(), [&](const AddedToken& other) {
      return other.content == token.token.content;
    });
    if (known == added.end()) {
      added.push_back(token.token);
    } else if (token.sets_flags) {
      const int32_t id = known->id;
      *known = token.token;
      known->id = id;
    }
  };
  for (const auto& token : folder.tokens) {
    if (!token.is_default && taken.count(token.token.id) == 0) add(token);
  }
  if (folder.is_rebuilt()) {
    std::stable_sort(added.begin(), added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  }
  for (AddedToken& token : later) add({std::move(token), true, false});
  for (const auto& token : folder.tokens) {
    if (token.is_default) add(token);
  }
}

bool cuts_left(const TokenizerFolder& folder, const Json& root) {
  const JsonObject json(folder.settings, folder.source);
  if (json.has("truncation_side")) return json.text("truncation_side") == "left";
  const auto truncation = root.find("truncation");
  return truncation != root.end() && truncation->is_object() &&
         truncation->value("direction", Json()) == "Left";
}

}  // namespace simile::detail
