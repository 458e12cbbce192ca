// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/sentencepiece_document.h"
#include "simile/text/utf8.h"
#include "simile/text/vocabulary.h"

namespace simile::detail {
namespace {

// The text of special token `key` in a tokenizer_config.json, which names it by its text or by an
// object that holds it under "content"; `fallback` when the file does not name it.
std::string read_token_name(const Json& config, const char* key, const std::string& fallback,
                            const std::string& source) {
  const auto found = config.find(key);
  if (found != config.end() && found->is_object()) {
    return JsonObject(*found, source).text("content");
  }
  return JsonObject(config, source).text_or(key, fallback);
}

// A tokenizer_class without the "Fast" that may stand at its end.
std::string plain_class_name(const std::string& name) {
  const std::string fast = "Fast";
  if (name == fast || !ends_with(name, fast)) return name;
  return name.substr(0, name.size() - fast.size());
}

BertTokenizerSettings read_bert_settings(const std::string& folder) {
  BertTokenizerSettings settings;
  const std::string path = join_path(folder, "tokenizer_config.json");
  if (!file_exists(path)) return settings;
  const Json config = read_json(path);
  const JsonObject object(config, path);
  settings.lowercase = object.flag_or("do_lower_case", true);
  settings.handle_chinese_chars = object.flag_or("tokenize_chinese_chars", true);
  if (object.has("strip_accents")) settings.strip_accents = object.flag_or("strip_accents", true);
  settings.pad_token = read_token_name(config, "pad_token", settings.pad_token, path);
  settings.unk_token = read_token_name(config, "unk_token", settings.unk_token, path);
  settings.cls_token = read_token_name(config, "cls_token", settings.cls_token, path);
  settings.sep_token = read_token_name(config, "sep_token", settings.sep_token, path);
  settings.mask_token = read_token_name(config, "mask_token", settings.mask_token, path);
  return settings;
}

std::vector<std::string> read_vocabulary_lines(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> tokens;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    std::string token = text.substr(begin, end - begin);
    while (!token.empty() &&
           (token.back() == '\r' || token.back() == ' ' || token.back() == '\t')) {
      token.pop_back();
    }
    SIMILE_CHECK(is_valid_utf8(token), ErrorKind::kInput,
                 fmt::format("{}:{}: the token is not valid UTF-8", path, tokens.size() + 1));
    tokens.push_back(std::move(token));
    begin = end + 1;
  }
  while (!tokens.empty() && tokens.back().empty()) tokens.pop_back();
  SIMILE_CHECK(!tokens.empty(), ErrorKind::kInput,
               fmt::format("{}: the vocabulary is empty; expected one token a line", path));
  return tokens;
}

std::string special_piece(const std::string& token, int type_id) {
  return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", quote_json(token), type_id);
}

std::string sequence_piece(const char* name, int type_id) {
  return fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, type_id);
}

std::string special_token_ids(const std::string& token, int64_t id) {
  const std::string name = quote_json(token);
  return fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", name, id);
}

std::string bert_post_processor(const BertTokenizerSettings& settings,
                                const Vocabulary& vocabulary) {
  const std::string& cls = settings.cls_token;
  const std::string& sep = settings.sep_token;
  const std::string single =
      special_piece(cls, 0) + "," + sequence_piece("A", 0) + "," + special_piece(sep, 0);
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},{1},{2}],"special_tokens":{{{3},{4}}}}})",
      single, sequence_piece("B", 1), special_piece(sep, 1),
      special_token_ids(cls, vocabulary.find(cls)), special_token_ids(sep, vocabulary.find(sep)));
}

std::string bert_added_tokens(const BertTokenizerSettings& settings, const Vocabulary& vocabulary) {
  std::vector<std::string> names = {settings.pad_token, settings.unk_token, settings.cls_token,
                                    settings.sep_token, settings.mask_token};
  names.insert(names.end(), settings.more_special_tokens.begin(),
               settings.more_special_tokens.end());
  std::vector<std::pair<int32_t, std::string>> tokens;
  for (const std::string& name : names) {
    const int32_t id = vocabulary.find(name);
    if (id >= 0) tokens.emplace_back(id, name);
  }
  std::string text;
  for (const auto& [id, name] : tokens) {
    text +=
        fmt::format(R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,)"
                    R"("normalized":false,"special":true}})",
                    text.empty() ? "" : ",", id, quote_json(name));
  }
  return "[" + text + "]";
}

const char* flag_text(bool flag) { return flag ? "true" : "false"; }

enum class BytePairFamily { kRoberta, kGpt2 };

struct ClassRow {
  const char* name;
  BytePairFamily family;
};

constexpr std::array<ClassRow, 4> kClasses = {{{"RobertaTokenizer", BytePairFamily::kRoberta},
                                               {"BartTokenizer", BytePairFamily::kRoberta},
                                               {"LongformerTokenizer", BytePairFamily::kRoberta},
                                               {"GPT2Tokenizer", BytePairFamily::kGpt2}}};

// The files of a folder, read.
struct Folder {
  std::string vocabulary_path;
  std::string config_path;
  Json vocabulary;
  Json config = Json::object();
};

Folder read_folder(const std::string& folder) {
  Folder files;
  files.vocabulary_path = join_path(folder, "vocab.json");
  files.config_path = join_path(folder, "tokenizer_config.json");
  files.vocabulary = read_json(files.vocabulary_path);
  SIMILE_CHECK(files.vocabulary.is_object(), ErrorKind::kInput,
               fmt::format("{} must be an object from token to id, but it is {}",
                           files.vocabulary_path, describe_json(files.vocabulary)));
  if (file_exists(files.config_path)) files.config = read_json(files.config_path);
  return files;
}

BytePairFamily find_family(const Folder& files) {
  const std::string name =
      plain_class_name(JsonObject(files.config, files.config_path).text_or("tokenizer_class", ""));
  if (name.empty()) {
    const bool has_both = files.vocabulary.contains("<s>") && files.vocabulary.contains("</s>");
    return has_both ? BytePairFamily::kRoberta : BytePairFamily::kGpt2;
  }
  std::string known;
  for (const ClassRow& row : kClasses) {
    if (name == row.name) return row.family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: tokenizer_class \"{}\" with vocab.json and merges.txt is not "
                          "supported; known are {}. Save the tokeniser as tokenizer.json",
                          files.config_path, name, known));
}

Json read_merges_file(const std::string& path) {
  const std::string text = read_file(path);
  SIMILE_CHECK(is_valid_utf8(text), ErrorKind::kInput, fmt::format("{} is not valid UTF-8", path));
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
                 fmt::format("{}:{}: a merge must be two tokens with a space between, but it is "
                             "\"{}\"",
                             path, line, merge));
    merges.push_back(std::move(merge));
  }
  return merges;
}

// The id of a special token; null when the vocabulary has no such token.
Json find_id(const Folder& files, const std::string& token) {
  const auto found = files.vocabulary.find(token);
  return found == files.vocabulary.end() ? Json() : *found;
}

Json added_tokens(const Folder& files, const std::vector<std::string>& names,
                  const std::string& mask) {
  Json tokens = Json::array();
  std::vector<std::string> done;
  for (const std::string& name : names) {
    const Json id = find_id(files, name);
    if (id.is_null() || std::find(done.begin(), done.end(), name) != done.end()) continue;
    done.push_back(name);
    tokens.push_back(special_token_entry(name, 0));
    tokens.back()["id"] = id;
    tokens.back()["lstrip"] = name == mask;
  }
  return tokens;
}

Json end_token(const Folder& files, const std::string& name) {
  const Json id = find_id(files, name);
  SIMILE_CHECK(!id.is_null(), ErrorKind::kInput,
               fmt::format("{}: the special token \"{}\" is not in the vocabulary",
                           files.vocabulary_path, name));
  return {name, id};
}

struct SentencePieceRow {
  SentencePieceFamily family;
  const char* tokenizer_class;  // without "Fast" at its end
  const char* model_type;
};

const SentencePieceRow kSentencePieces[] = {
    {SentencePieceFamily::kXlmRoberta, "XLMRobertaTokenizer", "xlm-roberta"},
    {SentencePieceFamily::kCamembert, "CamembertTokenizer", "camembert"},
    {SentencePieceFamily::kXlnet, "XLNetTokenizer", "xlnet"},
    {SentencePieceFamily::kAlbert, "AlbertTokenizer", "albert"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "t5"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "mt5"},
};

constexpr int64_t kMaxExtraIds = 100000;

SentencePieceFamily family_of_class(const std::string& tokenizer_class, const std::string& path) {
  const std::string name = plain_class_name(tokenizer_class);
  std::string known;
  for (const SentencePieceRow& row : kSentencePieces) {
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
  const Json config = read_json(path);
  const std::string type = JsonObject(config, path).text_or("model_type", "");
  for (const SentencePieceRow& row : kSentencePieces) {
    if (type == row.model_type) return row.family;
  }
  return SentencePieceFamily::kPlain;
}

void read_more_special_tokens(const JsonObject& config, std::vector<std::string>& tokens) {
  if (!config.has("additional_special_tokens")) return;
  const Json& list = config.at("additional_special_tokens");
  const std::string where = config.source() + ": additional_special_tokens";
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput,
               fmt::format("{} must be a list, but it is {}", where, describe_json(list)));
  for (const Json& item : list) {
    if (item.is_object()) {
      tokens.push_back(JsonObject(item, where).text("content"));
      continue;
    }
    SIMILE_CHECK(item.is_string(), ErrorKind::kInput,
                 fmt::format("{} must hold texts, but found {}", where, describe_json(item)));
    tokens.push_back(item.get<std::string>());
  }
}

SentencePieceSettings read_sentencepiece_settings(const std::string& folder) {
  SentencePieceSettings settings;
  const std::string path = join_path(folder, "tokenizer_config.json");
  const Json config = file_exists(path) ? read_json(path) : Json::object();
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

}  // namespace

std::string bert_document(const std::vector<std::string>& tokens,
                          const BertTokenizerSettings& settings, const std::string& source) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const std::string& token : tokens) {
    entries.emplace_back(token, static_cast<int64_t>(entries.size()));
  }
  const auto count = static_cast<int64_t>(entries.size());
  const Vocabulary vocabulary(std::move(entries), count, source);
  for (const std::string& name : {settings.unk_token, settings.cls_token, settings.sep_token}) {
    SIMILE_CHECK(vocabulary.find(name) >= 0, ErrorKind::kInput,
                 fmt::format("{}: the special token \"{}\" is not in the vocabulary of {} tokens",
                             source, name, count));
  }
  const char* strip_accents =
      settings.strip_accents < 0 ? "null" : flag_text(settings.strip_accents != 0);
  std::string text = fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},)"
      R"("normalizer":{{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":{},)"
      R"("strip_accents":{},"lowercase":{}}},"pre_tokenizer":{{"type":"BertPreTokenizer"}},)"
      R"("post_processor":{},"decoder":{{"type":"WordPiece","prefix":"##","cleanup":true}},)"
      R"("model":{{"type":"WordPiece","unk_token":{},"continuing_subword_prefix":"##",)"
      R"("max_input_chars_per_word":100,"vocab":{{)",
      bert_added_tokens(settings, vocabulary), flag_text(settings.handle_chinese_chars),
      strip_accents, flag_text(settings.lowercase), bert_post_processor(settings, vocabulary),
      quote_json(settings.unk_token));
  for (size_t id = 0; id < tokens.size(); ++id) {
    text += fmt::format("{}{}:{}", id == 0 ? "" : ",", quote_json(tokens[id]), id);
  }
  return text + "}}}";
}

std::string bert_document(const std::string& vocabulary, const std::string& folder) {
  return bert_document(read_vocabulary_lines(vocabulary), read_bert_settings(folder), vocabulary);
}

std::string byte_pair_document(const std::string& folder) {
  const Folder files = read_folder(folder);
  const JsonObject config(files.config, files.config_path);
  const bool prefix_space = config.flag_or("add_prefix_space", false);
  const auto name = [&](const char* key, const std::string& fallback) {
    return read_token_name(files.config, key, fallback, files.config_path);
  };
  Json post_processor;
  Json added;
  if (find_family(files) == BytePairFamily::kRoberta) {
    const std::string cls = name("cls_token", "<s>");
    const std::string sep = name("sep_token", "</s>");
    const std::string mask = name("mask_token", "<mask>");
    post_processor = {{"type", "RobertaProcessing"},
                      {"sep", end_token(files, sep)},
                      {"cls", end_token(files, cls)},
                      {"trim_offsets", true},
                      {"add_prefix_space", prefix_space}};
    added = added_tokens(
        files, {cls, name("pad_token", "<pad>"), sep, name("unk_token", "<unk>"), mask}, mask);
  } else {
    const std::string end = "<|endoftext|>";
    post_processor = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
    added = added_tokens(files,
                         {name("bos_token", end), name("eos_token", end), name("unk_token", end),
                          name("pad_token", end)},
                         "");
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
                           {"vocab", files.vocabulary},
                           {"merges", read_merges_file(join_path(folder, "merges.txt"))}}}};
  return dump_json(document, -1);
}

std::string sentencepiece_document(const std::string& model, const std::string& folder) {
  return simile::sentencepiece_document(parse_sentencepiece_model(read_file(model), model),
                                        read_sentencepiece_settings(folder), model);
}

}  // namespace simile::detail
