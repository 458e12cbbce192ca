// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "simile/core/detail/check.h"
#include "simile/text/token_model.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

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
      : vocabulary_(std::move(vocabulary)), settings_(settings) {
    unknown_id_ = vocabulary_.find(settings_.unknown_token);
    SIMILE_CHECK(unknown_id_ >= 0, ErrorKind::kInput,
                 "{}: the unknown token \"{}\" is not in the vocabulary", source,
                 settings_.unknown_token);
    const std::string& prefix = settings_.continuing_prefix;
    size_t slot_count = 64;
    while (slot_count < static_cast<size_t>(vocabulary_.size()) * 4) slot_count *= 2;
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

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_id_; }

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

  Vocabulary vocabulary_;
  WordPieceSettings settings_;
  int32_t unknown_id_ = -1;
  size_t max_piece_bytes_ = 0;
  std::vector<Slot> slots_;  // open addressing, a power of two
};

}  // namespace

std::unique_ptr<const TokenModel> make_word_piece(Vocabulary vocabulary,
                                                  const WordPieceSettings& settings,
                                                  const std::string& source) {
  return std::make_unique<WordPiece>(std::move(vocabulary), settings, source);
}

}  // namespace simile
