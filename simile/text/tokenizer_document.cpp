// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_document.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/text/unicode.h"
#include "simile/text/utf8.h"
#include "simile/text/vocabulary.h"

namespace simile::detail {
namespace {

using OrderedJson = nlohmann::ordered_json;

// `token` without the white space at its end, as the `tokenizers` library reads a line.
void strip_end(std::string& token) {
  size_t end = token.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && continues_character(token[begin])) --begin;
    const uint32_t character = decode_valid_character(token, begin).code_point;
    if ((character_properties(character) & kWhiteSpace) == 0) break;
    end = begin;
  }
  token.resize(end);
}

std::vector<std::string> read_vocabulary_lines(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> tokens;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string token = text.substr(begin, end - begin);
    SIMILE_CHECK(is_valid_utf8(token), ErrorKind::kInput, "{}:{}: the token is not valid UTF-8",
                 path, tokens.size() + 1);
    strip_end(token);
    tokens.push_back(std::move(token));
    begin = end + 1;
  }
  SIMILE_CHECK(std::any_of(tokens.begin(), tokens.end(), [](const auto& t) { return !t.empty(); }),
               ErrorKind::kInput, "{}: the vocabulary is empty; expected one token a line", path);
  return tokens;
}

// kRoberta or kGpt2.
TokenizerKind byte_pair_kind(const TokenizerFolder& folder, const Json& vocabulary) {
  using Kind = TokenizerKind;
  if (folder.name.empty()) {
    return vocabulary.contains("<s>") && vocabulary.contains("</s>") ? Kind::kRoberta : Kind::kGpt2;
  }
  SIMILE_CHECK(folder.kind == Kind::kRoberta || folder.kind == Kind::kGpt2, ErrorKind::kInput,
               "{}: tokenizer_class \"{}\" with vocab.json and merges.txt is not supported; known "
               "are {}, {}. Save the tokeniser as tokenizer.json",
               folder.source, folder.name, fmt::join(tokenizer_classes(Kind::kRoberta), ", "),
               fmt::join(tokenizer_classes(Kind::kGpt2), ", "));
  return folder.kind;
}

Json read_merges_file(const std::string& path) {
  const std::string text = read_file(path);
  SIMILE_CHECK(is_valid_utf8(text), ErrorKind::kInput, "{} is not valid UTF-8", path);
  Json merges = Json::array();
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string merge = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (!merge.empty() && merge.back() == '\r') merge.pop_back();
    if (merge.empty() || (line == 1 && merge.compare(0, 8, "#version") == 0)) continue;
    SIMILE_CHECK(std::count(merge.begin(), merge.end(), ' ') == 1, ErrorKind::kInput,
                 "{}:{}: a merge must be two tokens with a space between, but it is \"{}\"", path,
                 line, merge);
    merges.push_back(std::move(merge));
  }
  return merges;
}

}  // namespace

std::string bert_document(const std::vector<std::string>& tokens,
                          const BertTokenizerSettings& settings, const std::string& source,
                          bool special) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const std::string& token : tokens) {
    entries.emplace_back(token, static_cast<int64_t>(entries.size()));
  }
  const auto count = static_cast<int64_t>(entries.size());
  const Vocabulary vocabulary(std::move(entries), count, source, Vocabulary::Repeats::kLastWins);
  for (const std::string& name : {settings.unk_token, settings.cls_token, settings.sep_token}) {
    SIMILE_CHECK(vocabulary.find(name) >= 0, ErrorKind::kInput,
                 "{}: the special token \"{}\" is not in the vocabulary of {} tokens", source, name,
                 count);
  }
  std::vector<std::string> names = {settings.pad_token, settings.unk_token, settings.cls_token,
                                    settings.sep_token, settings.mask_token};
  names.insert(names.end(), settings.more_special_tokens.begin(),
               settings.more_special_tokens.end());
  OrderedJson added = OrderedJson::array();
  for (const std::string& name : names) {
    const int32_t id = vocabulary.find(name);
    if (id < 0 || !special) continue;
    added.push_back(special_token_entry<OrderedJson>(name, id));
    added.back()["lstrip"] = false;
  }
  const std::string& cls = settings.cls_token;
  const std::string& sep = settings.sep_token;
  const TemplateParts pair =
      settings.double_separator
          ? TemplateParts{{cls, 0}, {"A", 0}, {sep, 0}, {sep, 0}, {"B", 0}, {sep, 0}}
          : TemplateParts{{cls, 0}, {"A", 0}, {sep, 0}, {"B", 1}, {sep, 1}};
  const auto post_processor = template_processing<OrderedJson>(
      {{cls, 0}, {"A", 0}, {sep, 0}}, pair,
      [&](const std::string& name) { return vocabulary.find(name); });
  const std::string strip_accents =
      settings.strip_accents < 0 ? "null" : fmt::format("{}", settings.strip_accents != 0);
  std::string text = fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},)"
      R"("normalizer":{{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":{},)"
      R"("strip_accents":{},"lowercase":{}}},"pre_tokenizer":{{"type":"BertPreTokenizer"}},)"
      R"("post_processor":{},"decoder":{{"type":"WordPiece","prefix":"##","cleanup":true}},)"
      R"("model":{{"type":"WordPiece","unk_token":{},"continuing_subword_prefix":"##",)"
      R"("max_input_chars_per_word":100,"vocab":{{)",
      added.dump(), settings.handle_chinese_chars, strip_accents, settings.lowercase,
      post_processor.dump(), quote_json(settings.unk_token));
  const char* separator = "";
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (vocabulary.find(tokens[id]) != static_cast<int32_t>(id)) continue;
    text += fmt::format("{}{}:{}", separator, quote_json(tokens[id]), id);
    separator = ",";
  }
  return text + "}}}";
}

BertTokenizerSettings read_bert_settings(const TokenizerFolder& folder) {
  const JsonObject json(folder.settings, folder.source);
  BertTokenizerSettings settings;
  settings.double_separator = folder.kind == TokenizerKind::kMpnet;
  settings.lowercase = json.flag_or("do_lower_case", true);
  settings.handle_chinese_chars = json.flag_or("tokenize_chinese_chars", true);
  if (json.has("strip_accents")) settings.strip_accents = json.flag_or("strip_accents", true);
  settings.pad_token = folder.token("pad_token");
  settings.unk_token = folder.token("unk_token");
  settings.cls_token = folder.token("cls_token");
  settings.sep_token = folder.token("sep_token");
  settings.mask_token = folder.token("mask_token");
  return settings;
}

std::string bert_document(const std::string& vocabulary, const TokenizerFolder& folder) {
  check_reads_vocabulary(folder);
  return bert_document(read_vocabulary_lines(vocabulary), read_bert_settings(folder), vocabulary,
                       false);
}

std::string byte_pair_document(const std::string& folder, const TokenizerFolder& settings) {
  const std::string path = join_path(folder, "vocab.json");
  const Json vocabulary = read_json(path);
  SIMILE_CHECK(vocabulary.is_object(), ErrorKind::kInput,
               "{} must be an object from token to id, but it is {}", path,
               describe_json(vocabulary));
  const JsonObject config(settings.settings, settings.source);
  const bool prefix_space = config.flag_or("add_prefix_space", false);
  const TokenizerKind kind = byte_pair_kind(settings, vocabulary);
  std::map<std::string, std::string> names = default_tokens(kind);
  for (auto& [key, text] : names) text = read_token_name(config, key.c_str(), text);
  const auto end_token = [&](const std::string& token) {
    SIMILE_CHECK(vocabulary.contains(token) && !vocabulary.at(token).is_null(), ErrorKind::kInput,
                 "{}: the special token \"{}\" is not in the vocabulary", path, token);
    return Json{token, vocabulary.at(token)};
  };
  Json post_processor;
  if (kind == TokenizerKind::kRoberta) {
    post_processor = {{"type", "RobertaProcessing"},
                      {"sep", end_token(names["sep_token"])},
                      {"cls", end_token(names["cls_token"])},
                      {"trim_offsets", true},
                      {"add_prefix_space", prefix_space}};
  } else {
    post_processor = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
  }
  std::set<std::string> unique;
  Json added = Json::array();
  for (const auto& item : names) {
    const auto id = vocabulary.find(item.second);
    if (id == vocabulary.end() || id->is_null() || !unique.insert(item.second).second) continue;
    added.push_back(special_token_entry(item.second, 0));
    added.back()["id"] = *id;
    added.back()["lstrip"] = false;
  }
  const Json document = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added},
                         {"normalizer", nullptr},
                         {"pre_tokenizer",
                          {{"type", "ByteLevel"},
                           {"add_prefix_space", prefix_space},
                           {"trim_offsets", true},
                           {"use_regex", true}}},
                         {"post_processor", post_processor},
                         {"decoder",
                          {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}}},
                         {"model",
                          {{"type", "BPE"},
                           {"dropout", nullptr},
                           {"unk_token", nullptr},
                           {"continuing_subword_prefix", nullptr},
                           {"end_of_word_suffix", nullptr},
                           {"fuse_unk", false},
                           {"byte_fallback", false},
                           {"ignore_merges", false},
                           {"vocab", vocabulary},
                           {"merges", read_merges_file(join_path(folder, "merges.txt"))}}}};
  return dump_json(document, -1);
}

std::string read_token_name(const JsonObject& config, const char* key,
                            const std::string& fallback) {
  if (config.has(key) && config.at(key).is_object()) {
    return JsonObject(config.at(key), config.source()).text("content");
  }
  return config.text_or(key, fallback);
}

std::string read_tokenizer_class(const JsonObject& config) {
  const std::string name = config.text_or("tokenizer_class", "");
  const bool is_fast = ends_with(name, "Fast") && name != "Fast";
  return is_fast ? name.substr(0, name.size() - 4) : name;
}

std::string quote_json(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
  });
  return plain ? fmt::format("\"{}\"", text) : dump_json(Json(text), -1);
}

std::string tokens_and_merges_text(
    const std::vector<std::string_view>& tokens,
    const std::vector<std::pair<std::string_view, std::string_view>>& merges) {
  std::string text = "\"vocab\":{";
  for (size_t id = 0; id < tokens.size(); ++id) {
    text += fmt::format("{}{}:{}", id == 0 ? "" : ",", quote_json(tokens[id]), id);
  }
  text += "},\"merges\":[";
  const char* separator = "";
  for (const auto& [left, right] : merges) {
    text += fmt::format("{}[{},{}]", separator, quote_json(left), quote_json(right));
    separator = ",";
  }
  return text + "]}";
}

Json trained_normalizer(bool compatibility, bool lowercase) {
  std::vector<Json> steps;
  const auto add = [&](const char* type) { steps.push_back({{"type", type}}); };
  if (compatibility) add("Nmt");
  if (lowercase) {
    add(compatibility ? "NFKD" : "NFD");
    add("StripAccents");
    add("NFC");
    add("Lowercase");
  } else if (compatibility) {
    add("NFKC");
  }
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

Json trained_tokens(const std::vector<std::string>& special_tokens,
                    const std::vector<int64_t>& special_ids) {
  Json added = Json::array();
  for (size_t i = 0; i < special_tokens.size(); ++i) {
    added.push_back(special_token_entry(special_tokens[i], special_ids[i]));
  }
  return added;
}

std::string tokenizer_document(const Json& added_tokens, const Json& normalizer,
                               const Json& pre_tokenizer, const Json& post_processor,
                               const Json& decoder, const std::string& model) {
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},)"
      R"("pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{}}})",
      dump_json(added_tokens, -1), dump_json(normalizer, -1), dump_json(pre_tokenizer, -1),
      dump_json(post_processor, -1), dump_json(decoder, -1), model);
}

}  // namespace simile::detail
