// SPDX-License-Identifier: Apache-2.0
#include "simile/text/bpe.h"
#include "simile/text/detail/component_table.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/sentencepiece_readers.h"
#include "simile/text/word_level.h"
#include "simile/text/word_piece.h"

namespace simile::detail {
namespace {

using ModelPointer = std::unique_ptr<const TokenModel>;

// The tokens of an object from token to id.
Vocabulary read_vocabulary(const JsonObject& object, ModelTables& tables, int64_t added,
                           const std::string& model) {
  const Json& vocabulary = object.at("vocab");
  const std::string where = model + ": vocab";
  SIMILE_CHECK(vocabulary.is_object(), ErrorKind::kInput,
               fmt::format("{} must be an object from token to id, but it is a JSON {}", where,
                           vocabulary.type_name()));
  const auto bound = static_cast<int64_t>(tables.tokens.size()) + added;
  return Vocabulary(std::move(tables.tokens), bound, where);
}

ModelPointer read_word_piece(const Json& json, ModelTables& tables, int64_t added,
                             const std::string& where) {
  check_options(
      json, {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}, where);
  const JsonObject object(json, where);
  WordPieceSettings settings;
  settings.unknown_token = object.text("unk_token");
  settings.continuing_prefix = object.text_or("continuing_subword_prefix", "##");
  if (object.has("max_input_chars_per_word")) {
    settings.max_characters_per_word = object.integer("max_input_chars_per_word", 0, 1 << 14);
  }
  return std::make_unique<WordPiece>(read_vocabulary(object, tables, added, where), settings,
                                     where);
}

ModelPointer read_word_level(const Json& json, ModelTables& tables, int64_t added,
                             const std::string& where) {
  check_options(json, {"unk_token", "vocab"}, where);
  const JsonObject object(json, where);
  return std::make_unique<WordLevel>(read_vocabulary(object, tables, added, where),
                                     object.text("unk_token"), where);
}

ModelPointer read_bpe(const Json& json, ModelTables& tables, int64_t added,
                      const std::string& where) {
  check_options(json,
                {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                 "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"},
                where);
  const JsonObject object(json, where);
  SIMILE_CHECK(object.number_or("dropout", 0, 0, 1) == 0, ErrorKind::kInput,
               fmt::format("{}: \"dropout\" must be null or 0: leaving out merges at random is not "
                           "supported",
                           where));
  SIMILE_CHECK(object.at("merges").is_array(), ErrorKind::kInput,
               fmt::format("{}: \"merges\" must be a list, but it is {}", where,
                           describe_json(object.at("merges"))));
  BpeSettings settings;
  if (object.has("unk_token")) settings.unknown_token = object.text("unk_token");
  settings.continuing_prefix = object.text_or("continuing_subword_prefix", "");
  settings.word_suffix = object.text_or("end_of_word_suffix", "");
  settings.fuse_unknown = object.flag_or("fuse_unk", false);
  settings.byte_fallback = object.flag_or("byte_fallback", false);
  settings.ignore_merges = object.flag_or("ignore_merges", false);
  return std::make_unique<Bpe>(read_vocabulary(object, tables, added, where), tables.merges,
                               settings, where);
}

using Maker = std::unique_ptr<const TokenModel> (*)(const Json&, ModelTables&, int64_t,
                                                    const std::string&);

const ComponentTable<Maker> kModels = {
    {"WordPiece", read_word_piece},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
    {"BPE", read_bpe},
};

// Files written before 2021 leave the model's type out.
std::string guess_type(const Json& json, const std::string& where) {
  const JsonObject object(json, where);
  if (object.has("merges")) return "BPE";
  if (object.has("vocab") && object.at("vocab").is_array()) return "Unigram";
  return object.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<const TokenModel> make_model(const Json& json, ModelTables& tables, int64_t added,
                                             const std::string& source) {
  const std::string where = source + ": model";
  if (!JsonObject(json, where).has("type")) {
    Json typed = json;  // small: its tables are elsewhere
    typed["type"] = guess_type(json, where);
    return find_maker(kModels, typed, where)(typed, tables, added, where);
  }
  return find_maker(kModels, json, where)(json, tables, added, where);
}

std::vector<std::string> model_names() { return names_of(kModels); }

}  // namespace simile::detail
