// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "simile/core/checksums.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/text/detail/json_text.h"
#include "simile/text/detail/tokenizer_core.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/sentencepiece_document.h"
#include "simile/text/sentencepiece_model.h"
#include "simile/text/tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using detail::Json;
using detail::quote_json;

const char* const kSentencePieceFiles[] = {"sentencepiece.bpe.model", "spiece.model"};

BertTokenizerSettings read_bert_settings(const std::string& folder) {
  BertTokenizerSettings settings;
  const std::string path = join_path(folder, "tokenizer_config.json");
  if (!file_exists(path)) return settings;
  const Json config = detail::read_json(path);
  const detail::JsonObject object(config, path);
  settings.lowercase = object.flag_or("do_lower_case", true);
  settings.handle_chinese_chars = object.flag_or("tokenize_chinese_chars", true);
  if (object.has("strip_accents")) settings.strip_accents = object.flag_or("strip_accents", true);
  settings.pad_token = detail::read_token_name(config, "pad_token", settings.pad_token, path);
  settings.unk_token = detail::read_token_name(config, "unk_token", settings.unk_token, path);
  settings.cls_token = detail::read_token_name(config, "cls_token", settings.cls_token, path);
  settings.sep_token = detail::read_token_name(config, "sep_token", settings.sep_token, path);
  settings.mask_token = detail::read_token_name(config, "mask_token", settings.mask_token, path);
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

Tokenizer load_vocabulary_file(const std::string& path, const std::string& folder) {
  return Tokenizer::from_vocabulary(read_vocabulary_lines(path), read_bert_settings(folder), path);
}

// A tokenizer.json made of a sentencepiece model and the settings beside it.
std::string load_sentencepiece_file(const std::string& path, const std::string& folder) {
  return sentencepiece_document(parse_sentencepiece_model(read_file(path), path),
                                read_sentencepiece_settings(folder), path);
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

std::string bert_document(const std::vector<std::string>& tokens,
                          const BertTokenizerSettings& settings, const Vocabulary& vocabulary) {
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

}  // namespace

namespace detail {

std::string read_token_name(const Json& config, const char* key, const std::string& fallback,
                            const std::string& source) {
  const auto found = config.find(key);
  if (found != config.end() && found->is_object()) {
    return JsonObject(*found, source).text("content");
  }
  return JsonObject(config, source).text_or(key, fallback);
}

}  // namespace detail

Tokenizer Tokenizer::from_vocabulary(const std::vector<std::string>& tokens,
                                     const BertTokenizerSettings& settings,
                                     const std::string& source) {
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
  return parse(bert_document(tokens, settings, vocabulary), source);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& source) {
  return Tokenizer(read_tokenizer_core(json, source));
}

Tokenizer Tokenizer::load(const std::string& path) {
  if (!folder_exists(path)) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (file_exists(path)) verify_checksum(path);
    if (ends_with(path, ".txt")) return load_vocabulary_file(path, folder);
    if (ends_with(path, ".model")) return parse(load_sentencepiece_file(path, folder), path);
    return parse(read_file(path), path);
  }
  const std::string json = join_path(path, "tokenizer.json");
  if (file_exists(json)) return load(json);
  const std::string vocabulary = join_path(path, "vocab.txt");
  if (file_exists(vocabulary)) return load(vocabulary);
  const std::string byte_pairs = join_path(path, "vocab.json");
  if (file_exists(byte_pairs)) return parse(detail::byte_pair_document(path), byte_pairs);
  for (const char* name : kSentencePieceFiles) {
    const std::string file = join_path(path, name);
    if (file_exists(file)) return parse(load_sentencepiece_file(file, path), file);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: no tokeniser found; expected tokenizer.json, vocab.txt, vocab.json "
                          "with merges.txt, sentencepiece.bpe.model or spiece.model",
                          path));
}

}  // namespace simile
