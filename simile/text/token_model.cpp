// SPDX-License-Identifier: Apache-2.0
#include "simile/text/token_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "simile/core/check.h"
#include "simile/text/detail/components.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

using ModelPointer = std::unique_ptr<const TokenModel>;

int32_t find_unknown(const Vocabulary& vocabulary, const std::string& token,
                     const std::string& source) {
  const int32_t id = vocabulary.find(token);
  SIMILE_CHECK(id >= 0, ErrorKind::kInput, "{}: the unknown token \"{}\" is not in the vocabulary",
               source, token);
  return id;
}

// Each word is one token of the vocabulary or the unknown token.
class WordLevel : public TokenModel {
 public:
  WordLevel(Vocabulary vocabulary, const std::string& unknown_token, const std::string& source)
      : TokenModel(std::move(vocabulary)) {
    unknown_id_ = find_unknown(vocabulary_, unknown_token, source);
  }

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override {
    for (const Span word : words) {
      if (tokens.size() >= limit) return;
      const int32_t id = vocabulary_.find(text.substr(word.begin, word.end - word.begin));
      tokens.push_back({id >= 0 ? id : unknown_id_, word});
    }
  }
};

// A hash that grows byte by byte, so that all beginnings of a word are hashed in one pass.
constexpr uint64_t kWordSeed = 0x2545F4914F6CDD1DULL;
constexpr uint64_t kContinuingSeed = 0x9E3779B97F4A7C15ULL;

inline uint64_t extend_hash(uint64_t hash, char byte) {
  return (hash ^ static_cast<uint8_t>(byte)) * 0xD6E8FEB86659FD93ULL;
}

inline uint64_t finish_hash(uint64_t hash) { return hash ^ (hash >> 32); }

inline uint64_t seed_of(bool continuing) { return continuing ? kContinuingSeed : kWordSeed; }

uint64_t hash_of(std::string_view piece, bool continuing) {
  uint64_t hash = seed_of(continuing);
  for (const char byte : piece) hash = extend_hash(hash, byte);
  return finish_hash(hash);
}

inline uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

class WordPiece : public TokenModel {
 public:
  WordPiece(Vocabulary vocabulary, const WordPieceSettings& settings, const std::string& source)
      : TokenModel(std::move(vocabulary)), settings_(settings) {
    unknown_id_ = find_unknown(vocabulary_, settings.unknown_token, source);
    const std::string& prefix = settings_.continuing_prefix;
    size_t slot_count = 64;
    while (slot_count < static_cast<size_t>(vocabulary_.count()) * 4) slot_count *= 2;
    slots_.resize(slot_count);
    for (int32_t id = 0; id < vocabulary_.size(); ++id) {
      const std::string_view token = vocabulary_.token(id);
      if (token.empty()) continue;
      max_piece_bytes_ = std::max(max_piece_bytes_, token.size());
      insert(id, false);
      if (token.size() > prefix.size() && token.substr(0, prefix.size()) == prefix)
        insert(id, true);
    }
  }

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override {
    const auto max_characters = static_cast<size_t>(settings_.max_characters_per_word);
    for (const Span word : words) {
      if (tokens.size() >= limit) return;
      if (word.begin == word.end) continue;
      const std::string_view piece = text.substr(word.begin, word.end - word.begin);
      const bool too_long =
          piece.size() > max_characters && count_characters(piece) > max_characters;
      if (!too_long) {
        const int32_t id = find(hash_of(piece, false), piece, false);
        if (id >= 0) {
          tokens.push_back({id, word});
          continue;
        }
        const size_t size = tokens.size();
        if (cut_word(text, word, tokens)) continue;
        tokens.resize(size);
      }
      tokens.push_back({unknown_id_, word});
    }
  }

 private:
  // Two tables in one: the tokens as they are, and those that begin with the prefix without it.
  struct Slot {
    uint32_t tag = 0;  // high half of the hash
    int32_t id = -1;   // -1: free
  };

  void insert(int32_t id, bool continuing) {
    const size_t mask = slots_.size() - 1;
    const size_t skipped = continuing ? settings_.continuing_prefix.size() : 0;
    const uint64_t hash = hash_of(vocabulary_.token(id).substr(skipped), continuing);
    size_t slot = hash & mask;
    while (slots_[slot].id >= 0) slot = (slot + 1) & mask;
    slots_[slot] = {tag_of(hash), id};
  }

  int32_t find(uint64_t hash, std::string_view piece, bool continuing) const {
    const size_t mask = slots_.size() - 1;
    const std::string_view prefix =
        continuing ? std::string_view(settings_.continuing_prefix) : std::string_view();
    for (size_t slot = hash & mask; slots_[slot].id >= 0; slot = (slot + 1) & mask) {
      if (slots_[slot].tag != tag_of(hash)) continue;
      const std::string_view token = vocabulary_.token(slots_[slot].id);
      if (token.size() == prefix.size() + piece.size() &&
          token.substr(0, prefix.size()) == prefix && token.substr(prefix.size()) == piece) {
        return slots_[slot].id;
      }
    }
    return -1;
  }

  bool cut_word(std::string_view text, Span word, std::vector<Token>& tokens) const {
    thread_local std::vector<uint64_t> hashes;
    uint32_t begin = word.begin;
    while (begin < word.end) {
      const bool continuing = begin > word.begin;
      const size_t longest = std::min<size_t>(word.end - begin, max_piece_bytes_);
      hashes.clear();
      uint64_t hash = seed_of(continuing);
      for (size_t i = 0; i < longest; ++i) {
        hash = extend_hash(hash, text[begin + i]);
        hashes.push_back(finish_hash(hash));
      }
      // Tokens are valid UTF-8, so a match cannot end inside a character.
      int32_t id = -1;
      size_t size = longest;
      for (; size > 0; --size) {
        id = find(hashes[size - 1], text.substr(begin, size), continuing);
        if (id >= 0) break;
      }
      if (id < 0) return false;
      const auto end = static_cast<uint32_t>(begin + size);
      tokens.push_back({id, {begin, end}});
      begin = end;
    }
    return true;
  }

  WordPieceSettings settings_;
  size_t max_piece_bytes_ = 0;
  std::vector<Slot> slots_;  // open addressing, a power of two
};

// The tokens of an object from token to id.
Vocabulary read_vocabulary(const JsonObject& json, ModelTables& tables) {
  const Json& vocabulary = json.at("vocab");
  const std::string where = json.source() + ": vocab";
  SIMILE_CHECK(vocabulary.is_object(), ErrorKind::kInput,
               "{} must be an object from token to id, but it is a JSON {}", where,
               vocabulary.type_name());
  return Vocabulary(std::move(tables.tokens), kMaxTokenIds, where);
}

ModelPointer read_word_piece(const JsonObject& json, ModelTables& tables) {
  WordPieceSettings settings;
  settings.unknown_token = json.text("unk_token");
  settings.continuing_prefix = json.text_or("continuing_subword_prefix", "##");
  settings.max_characters_per_word =
      json.integer_or("max_input_chars_per_word", settings.max_characters_per_word, 0, 1 << 14);
  return make_word_piece(read_vocabulary(json, tables), settings, json.source());
}

ModelPointer read_word_level(const JsonObject& json, ModelTables& tables) {
  return std::make_unique<WordLevel>(read_vocabulary(json, tables), json.text("unk_token"),
                                     json.source());
}

ModelPointer read_bpe(const JsonObject& json, ModelTables& tables) {
  SIMILE_CHECK(json.number_or("dropout", 0, 0, 1) == 0, ErrorKind::kInput,
               "{}: \"dropout\" must be null or 0: leaving out merges at random is not supported",
               json.source());
  json.list("merges");
  BpeSettings settings;
  if (json.has("unk_token")) settings.unknown_token = json.text("unk_token");
  settings.continuing_prefix = json.text_or("continuing_subword_prefix", "");
  settings.word_suffix = json.text_or("end_of_word_suffix", "");
  settings.fuse_unknown = json.flag_or("fuse_unk", false);
  settings.byte_fallback = json.flag_or("byte_fallback", false);
  settings.ignore_merges = json.flag_or("ignore_merges", false);
  return make_bpe(read_vocabulary(json, tables), tables.merges, settings, json.source());
}

constexpr size_t kMostPieceBytes = 1024;  // a word takes its length times that of steps

ModelPointer read_unigram(const JsonObject& json, ModelTables& tables) {
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

const std::vector<ComponentRow<ModelPointer, ModelTables&>> kModels = {
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
  throw_error(ErrorKind::kInput,
              "{}: merge {} must be \"left right\" or [\"left\", \"right\"], but it is {}", where,
              tables.merges.size() + 1, describe_json(merge));
}

}  // namespace

std::string model_type(const JsonObject& json) {
  if (json.has("type")) return json.text("type");
  if (json.has("merges")) return "BPE";
  if (json.has("vocab") && json.at("vocab").is_array()) return "Unigram";
  return json.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

ModelPointer make_model(const Json& json, ModelTables& tables, const std::string& source) {
  const std::string where = source + ": model";
  Json typed = json;  // small: its tables are elsewhere
  typed["type"] = model_type(JsonObject(json, where));
  const JsonObject object(typed, where);
  return find_row(kModels, object).make(object, tables);
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

namespace simile {

std::unique_ptr<const TokenModel> make_word_piece(Vocabulary vocabulary,
                                                  const WordPieceSettings& settings,
                                                  const std::string& source) {
  return std::make_unique<detail::WordPiece>(std::move(vocabulary), settings, source);
}

}  // namespace simile
