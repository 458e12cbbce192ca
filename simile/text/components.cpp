// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/components.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "simile/core/error.h"
#include "simile/text/word_piece.h"

namespace simile::detail {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - 1;

template <typename Maker>
using Table = std::vector<std::pair<const char*, Maker>>;

// The row of `table` that the component's "type" names.
template <typename Maker>
const Maker& find_maker(const Table<Maker>& table, const Json& json, const std::string& where) {
  const std::string type = JsonObject(json, where).text("type");
  std::string known;
  for (const auto& [name, maker] : table) {
    if (type == name) return maker;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: type \"{}\" is not supported; known are {}", where, type, known));
}

std::unique_ptr<const Normalizer> read_bert_normalizer(const Json& json, const std::string& where) {
  const JsonObject object(json, where);
  BertNormalizerSettings settings;
  settings.clean_text = object.flag_or("clean_text", true);
  settings.handle_chinese_chars = object.flag_or("handle_chinese_chars", true);
  settings.lowercase = object.flag_or("lowercase", true);
  settings.strip_accents = object.flag_or("strip_accents", settings.lowercase);
  return std::make_unique<BertNormalizer>(settings);
}

std::unique_ptr<const PreTokenizer> read_bert_pre_tokenizer(const Json&, const std::string&) {
  return std::make_unique<BertPreTokenizer>();
}

std::unique_ptr<const TokenModel> read_word_piece(const Json& json, int64_t added,
                                                  const std::string& where) {
  const JsonObject object(json, where);
  WordPieceSettings settings;
  settings.unknown_token = object.text("unk_token");
  settings.continuing_prefix = object.text_or("continuing_subword_prefix", "##");
  if (object.has("max_input_chars_per_word")) {
    settings.max_characters_per_word = object.integer("max_input_chars_per_word", 0, 1 << 14);
  }
  const Json& vocabulary = object.at("vocab");
  const std::string vocabulary_where = where + ": vocab";
  SIMILE_CHECK(vocabulary.is_object(), ErrorKind::kInput,
               fmt::format("{} must be an object from token to id, but it is {}", vocabulary_where,
                           describe_json(vocabulary)));
  std::vector<std::pair<std::string, int64_t>> entries;
  entries.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary.items()) {
    SIMILE_CHECK(id.is_number_integer() && id.get<int64_t>() <= kMaxId, ErrorKind::kInput,
                 fmt::format("{}: the id of token \"{}\" must be a whole number, but it is {}",
                             vocabulary_where, token, describe_json(id)));
    entries.emplace_back(token, id.get<int64_t>());
  }
  const auto bound = static_cast<int64_t>(entries.size()) + added;
  return std::make_unique<WordPiece>(Vocabulary(std::move(entries), bound, vocabulary_where),
                                     settings, where);
}

int32_t check_id(int64_t id, int64_t vocabulary_size, const std::string& where) {
  SIMILE_CHECK(id >= 0 && id < vocabulary_size, ErrorKind::kInput,
               fmt::format("{}: special token id {} is not in the vocabulary of {} tokens", where,
                           id, vocabulary_size));
  return static_cast<int32_t>(id);
}

// The ids that a template's special token stands for.
std::vector<int32_t> read_special_ids(const Json& specials, const std::string& name, int64_t size,
                                      const std::string& where) {
  const auto found = specials.find(name);
  SIMILE_CHECK(found != specials.end(), ErrorKind::kInput,
               fmt::format("{}: the template uses special token \"{}\", which is not among "
                           "\"special_tokens\"",
                           where, name));
  const std::string special_where = fmt::format("{}: special_tokens: \"{}\"", where, name);
  const Json& list = JsonObject(*found, special_where).at("ids");
  SIMILE_CHECK(
      list.is_array(), ErrorKind::kInput,
      fmt::format("{}: \"ids\" must be a list, but it is {}", special_where, describe_json(list)));
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    SIMILE_CHECK(id.is_number_integer(), ErrorKind::kInput,
                 fmt::format("{}: \"ids\" must hold whole numbers, but found {}", special_where,
                             describe_json(id)));
    ids.push_back(check_id(id.get<int64_t>(), size, special_where));
  }
  return ids;
}

void read_template_piece(const Json& json, const Json& specials, int64_t size,
                         const std::string& where, std::vector<TemplatePiece>& pieces) {
  const JsonObject object(json, where);
  if (object.has("Sequence")) {
    const JsonObject sequence(object.at("Sequence"), where);
    const std::string id = sequence.text("id");
    SIMILE_CHECK(id == "A" || id == "B", ErrorKind::kInput,
                 fmt::format("{}: a sequence must be \"A\" or \"B\", not \"{}\"", where, id));
    const auto type_id = static_cast<int32_t>(sequence.integer("type_id", 0, kMaxId));
    pieces.push_back(
        {id == "A" ? TemplatePiece::Kind::kFirst : TemplatePiece::Kind::kSecond, 0, type_id});
    return;
  }
  SIMILE_CHECK(object.has("SpecialToken"), ErrorKind::kInput,
               fmt::format("{}: a piece must be \"Sequence\" or \"SpecialToken\", found {}", where,
                           describe_json(json)));
  const JsonObject special(object.at("SpecialToken"), where);
  const auto type_id = static_cast<int32_t>(special.integer("type_id", 0, kMaxId));
  for (const int32_t id : read_special_ids(specials, special.text("id"), size, where)) {
    pieces.push_back({TemplatePiece::Kind::kSpecial, id, type_id});
  }
}

std::vector<TemplatePiece> read_template(const JsonObject& object, const char* key, int64_t size,
                                         const std::string& where) {
  const Json& list = object.at(key);
  const Json& specials = object.at("special_tokens");
  const std::string key_where = fmt::format("{}: {}", where, key);
  SIMILE_CHECK(
      list.is_array() && specials.is_object(), ErrorKind::kInput,
      fmt::format("{}: expected a list of pieces and an object \"special_tokens\"", key_where));
  std::vector<TemplatePiece> pieces;
  for (const Json& piece : list) read_template_piece(piece, specials, size, key_where, pieces);
  return pieces;
}

bool has_piece(const std::vector<TemplatePiece>& pieces, TemplatePiece::Kind kind) {
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind == kind) return true;
  }
  return false;
}

PostProcessor read_template_processing(const Json& json, int64_t size, const std::string& where) {
  const JsonObject object(json, where);
  PostProcessor processor;
  processor.single = read_template(object, "single", size, where);
  processor.pair = read_template(object, "pair", size, where);
  SIMILE_CHECK(!has_piece(processor.single, TemplatePiece::Kind::kSecond), ErrorKind::kInput,
               fmt::format("{}: the template for single texts uses sequence B", where));
  return processor;
}

// ["[SEP]", 102], as BertProcessing and RobertaProcessing write a special token.
int32_t read_named_id(const JsonObject& object, const char* key, int64_t size,
                      const std::string& where) {
  const Json& pair = object.at(key);
  SIMILE_CHECK(
      pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer(),
      ErrorKind::kInput,
      fmt::format("{}: \"{}\" must be a token and its id, like [\"[SEP]\", 102], but it is {}",
                  where, key, describe_json(pair)));
  return check_id(pair[1].get<int64_t>(), size, where);
}

PostProcessor read_bert_processing(const Json& json, int64_t size, const std::string& where) {
  using Kind = TemplatePiece::Kind;
  const JsonObject object(json, where);
  const int32_t cls = read_named_id(object, "cls", size, where);
  const int32_t sep = read_named_id(object, "sep", size, where);
  return {{{Kind::kSpecial, cls, 0}, {Kind::kFirst, 0, 0}, {Kind::kSpecial, sep, 0}},
          {{Kind::kSpecial, cls, 0},
           {Kind::kFirst, 0, 0},
           {Kind::kSpecial, sep, 0},
           {Kind::kSecond, 0, 1},
           {Kind::kSpecial, sep, 1}}};
}

PostProcessor read_roberta_processing(const Json& json, int64_t size, const std::string& where) {
  using Kind = TemplatePiece::Kind;
  const JsonObject object(json, where);
  const int32_t cls = read_named_id(object, "cls", size, where);
  const int32_t sep = read_named_id(object, "sep", size, where);
  return {{{Kind::kSpecial, cls, 0}, {Kind::kFirst, 0, 0}, {Kind::kSpecial, sep, 0}},
          {{Kind::kSpecial, cls, 0},
           {Kind::kFirst, 0, 0},
           {Kind::kSpecial, sep, 0},
           {Kind::kSpecial, sep, 0},
           {Kind::kSecond, 0, 0},
           {Kind::kSpecial, sep, 0}}};
}

using NormalizerMaker = std::unique_ptr<const Normalizer> (*)(const Json&, const std::string&);
using PreTokenizerMaker = std::unique_ptr<const PreTokenizer> (*)(const Json&, const std::string&);
using ModelMaker = std::unique_ptr<const TokenModel> (*)(const Json&, int64_t, const std::string&);
using PostProcessorMaker = PostProcessor (*)(const Json&, int64_t, const std::string&);

const Table<NormalizerMaker> kNormalizers = {{"BertNormalizer", read_bert_normalizer}};
const Table<PreTokenizerMaker> kPreTokenizers = {{"BertPreTokenizer", read_bert_pre_tokenizer}};
const Table<ModelMaker> kModels = {{"WordPiece", read_word_piece}};
const Table<PostProcessorMaker> kPostProcessors = {{"TemplateProcessing", read_template_processing},
                                                   {"BertProcessing", read_bert_processing},
                                                   {"RobertaProcessing", read_roberta_processing}};

}  // namespace

std::unique_ptr<const Normalizer> make_normalizer(const Json& json, const std::string& source) {
  if (json.is_null()) return nullptr;
  const std::string where = source + ": normalizer";
  return find_maker(kNormalizers, json, where)(json, where);
}

std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json,
                                                       const std::string& source) {
  if (json.is_null()) return nullptr;
  const std::string where = source + ": pre_tokenizer";
  return find_maker(kPreTokenizers, json, where)(json, where);
}

std::unique_ptr<const TokenModel> make_model(const Json& json, int64_t added,
                                             const std::string& source) {
  const std::string where = source + ": model";
  return find_maker(kModels, json, where)(json, added, where);
}

PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source) {
  if (json.is_null()) return {};
  const std::string where = source + ": post_processor";
  return find_maker(kPostProcessors, json, where)(json, vocabulary_size, where);
}

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source) {
  const std::string where = source + ": added_tokens";
  if (json.is_null()) return {};
  SIMILE_CHECK(json.is_array(), ErrorKind::kInput,
               fmt::format("{} must be a list, but it is {}", where, describe_json(json)));
  std::vector<AddedToken> tokens;
  for (const Json& item : json) {
    const JsonObject object(item, where);
    AddedToken token;
    token.content = object.text("content");
    token.id = static_cast<int32_t>(object.integer("id", 0, kMaxId));
    token.special = object.flag_or("special", false);
    token.single_word = object.flag_or("single_word", false);
    token.lstrip = object.flag_or("lstrip", false);
    token.rstrip = object.flag_or("rstrip", false);
    token.normalized = object.flag_or("normalized", !token.special);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace simile::detail
