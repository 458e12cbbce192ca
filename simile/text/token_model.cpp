// SPDX-License-Identifier: Apache-2.0
#include "simile/text/token_model.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "simile/core/detail/check.h"
#include "simile/text/detail/components.h"

namespace simile::detail {
namespace {

using ModelPointer = std::unique_ptr<const TokenModel>;

// Each word is one token of the vocabulary or the unknown token.
class WordLevel : public TokenModel {
 public:
  WordLevel(Vocabulary vocabulary, const std::string& unknown_token, const std::string& source)
      : vocabulary_(std::move(vocabulary)) {
    unknown_id_ = vocabulary_.find(unknown_token);
    SIMILE_CHECK(unknown_id_ >= 0, ErrorKind::kInput,
                 "{}: the unknown token \"{}\" is not in the vocabulary", source, unknown_token);
  }

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override {
    for (const Span word : words) {
      if (tokens.size() >= limit) return;
      const int32_t id = vocabulary_.find(text.substr(word.begin, word.end - word.begin));
      tokens.push_back({id >= 0 ? id : unknown_id_, word});
    }
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_id_; }

 private:
  Vocabulary vocabulary_;
  int32_t unknown_id_ = -1;
};

// The tokens of an object from token to id.
Vocabulary read_vocabulary(const JsonObject& json, ModelTables& tables, int64_t added) {
  const Json& vocabulary = json.at("vocab");
  const std::string where = json.source() + ": vocab";
  SIMILE_CHECK(vocabulary.is_object(), ErrorKind::kInput,
               "{} must be an object from token to id, but it is a JSON {}", where,
               vocabulary.type_name());
  const auto bound = static_cast<int64_t>(tables.tokens.size()) + added;
  return Vocabulary(std::move(tables.tokens), bound, where);
}

ModelPointer read_word_piece(const JsonObject& json, ModelTables& tables, int64_t added) {
  WordPieceSettings settings;
  settings.unknown_token = json.text("unk_token");
  settings.continuing_prefix = json.text_or("continuing_subword_prefix", "##");
  settings.max_characters_per_word =
      json.integer_or("max_input_chars_per_word", settings.max_characters_per_word, 0, 1 << 14);
  return make_word_piece(read_vocabulary(json, tables, added), settings, json.source());
}

ModelPointer read_word_level(const JsonObject& json, ModelTables& tables, int64_t added) {
  return std::make_unique<WordLevel>(read_vocabulary(json, tables, added), json.text("unk_token"),
                                     json.source());
}

ModelPointer read_bpe(const JsonObject& json, ModelTables& tables, int64_t added) {
  SIMILE_CHECK(json.number_or("dropout", 0, 0, 1) == 0, ErrorKind::kInput,
               "{}: \"dropout\" must be null or 0: leaving out merges at random is not "
               "supported",
               json.source());
  json.list("merges");
  BpeSettings settings;
  if (json.has("unk_token")) settings.unknown_token = json.text("unk_token");
  settings.continuing_prefix = json.text_or("continuing_subword_prefix", "");
  settings.word_suffix = json.text_or("end_of_word_suffix", "");
  settings.fuse_unknown = json.flag_or("fuse_unk", false);
  settings.byte_fallback = json.flag_or("byte_fallback", false);
  settings.ignore_merges = json.flag_or("ignore_merges", false);
  return make_bpe(read_vocabulary(json, tables, added), tables.merges, settings, json.source());
}

constexpr size_t kMostPieceBytes = 1024;  // a word takes its length times that of steps

ModelPointer read_unigram(const JsonObject& json, ModelTables& tables, int64_t) {
  const Json& list = json.at("vocab");
  const std::string where = json.source() + ": vocab";
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput,
               "{} must be a list of tokens and their scores, but it is a JSON {}", where,
               list.type_name());
  for (const auto& [token, id] : tables.tokens) {
    SIMILE_CHECK(token.size() <= kMostPieceBytes, ErrorKind::kInput,
                 "{}: token {} has {} bytes; at most {} are accepted", where, id, token.size(),
                 kMostPieceBytes);
  }
  const auto size = static_cast<int64_t>(tables.tokens.size());
  UnigramSettings settings;
  settings.unknown_id = static_cast<int32_t>(json.integer_or("unk_id", -1, 0, size - 1));
  settings.byte_fallback = json.flag_or("byte_fallback", false);
  return make_unigram(
      Vocabulary(std::move(tables.tokens), size, where, Vocabulary::Repeats::kLastWins),
      std::move(tables.scores), settings, json.source());
}

const std::vector<ComponentRow<ModelPointer, ModelTables&, int64_t>> kModels = {
    {"WordPiece",
     {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"},
     read_word_piece},
    {"Unigram", {"unk_id", "byte_fallback", "vocab"}, read_unigram},
    {"WordLevel", {"unk_token", "vocab"}, read_word_level},
    {"BPE",
     {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
      "byte_fallback", "ignore_merges", "vocab", "merges"},
     read_bpe},
};

// The number that the library makes of the text of `score`: all digits as one whole number, rounded
// to a double, then divided by a power of ten. With 16 digits and more it may miss the nearest
// double by one unit, which decides between cuts whose sums are otherwise equal.
double as_the_library_reads(double score) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  std::string text = fmt::format("{}", std::abs(score));  // the shortest that reads back
  const size_t point = text.find('.');
  const size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  if (point != std::string::npos) text.erase(point, 1);
  uint64_t digits = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, digits);
  const bool is_extreme = read.ec != std::errc() || read.ptr != end;  // has an exponent
  if (is_extreme || decimals >= std::size(kPowers)) return score;
  return std::copysign(static_cast<double>(digits) / kPowers[decimals], score);
}

// An entry of a list of tokens: its text and its score.
void take_piece(const Json& piece, const std::string& where, ModelTables& tables) {
  const auto id = static_cast<int64_t>(tables.tokens.size());
  SIMILE_CHECK(
      piece.is_array() && piece.size() == 2 && piece[0].is_string() && piece[1].is_number(),
      ErrorKind::kInput,
      "{}: entry {} must be a token and its score, like [\"a\", -3.5], but it is {}", where, id,
      describe_json(piece));
  const auto score = piece[1].get<double>();
  SIMILE_CHECK(std::isfinite(score), ErrorKind::kInput, "{}: the score of entry {} is not finite",
               where, id);
  tables.tokens.emplace_back(piece[0].get_ref<const std::string&>(), id);
  tables.scores.push_back(as_the_library_reads(score));
}

// "a b" or ["a", "b"].
void take_merge(const Json& merge, const std::string& where, ModelTables& tables) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    tables.merges.emplace_back(merge[0].get_ref<const std::string&>(),
                               merge[1].get_ref<const std::string&>());
    return;
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      tables.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
      return;
    }
  }
  detail::throw_error(ErrorKind::kInput,
                      "{}: merge {} must be \"left right\" or [\"left\", \"right\"], but it is {}",
                      where, tables.merges.size() + 1, describe_json(merge));
}

}  // namespace

ModelPointer make_model(const Json& json, ModelTables& tables, int64_t added,
                        const std::string& source) {
  const std::string where = source + ": model";
  const JsonObject object(json, where);
  if (object.has("type")) return find_row(kModels, object).make(object, tables, added);
  // Files written before 2021 leave the type out.
  const bool is_list = object.has("vocab") && object.at("vocab").is_array();
  Json typed = json;  // small: its tables are elsewhere
  typed["type"] = object.has("merges")                     ? "BPE"
                  : is_list                                ? "Unigram"
                  : object.has("max_input_chars_per_word") ? "WordPiece"
                                                           : "WordLevel";
  return make_model(typed, tables, added, source);
}

std::vector<std::string> model_names() { return names_of(kModels); }

std::vector<JsonStream> model_streams(const std::string& source, ModelTables& tables) {
  const std::string model = source + ": model";
  const auto vocab = [where = model + ": vocab", &tables](bool named, const std::string& token,
                                                          const Json& value) {
    if (!named) return take_piece(value, where, tables);
    SIMILE_CHECK(value.is_number_integer() && value.get<int64_t>() <= kMaxId, ErrorKind::kInput,
                 "{}: the id of token \"{}\" must be a whole number, but it is {}", where, token,
                 describe_json(value));
    tables.tokens.emplace_back(token, value.get<int64_t>());
  };
  const auto merges = [=, &tables](bool, const std::string&, const Json& value) {
    take_merge(value, model, tables);
  };
  return {{{"model", "vocab"}, vocab}, {{"model", "merges"}, merges}};
}

}  // namespace simile::detail
