// SPDX-License-Identifier: Apache-2.0
// Tokens: those of a vocabulary, and those that are found in a text before anything is cut.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/text/normalizer.h"

namespace simile::detail {

// A trie over the bytes of a vocabulary's tokens, for finding all tokens that a text begins with.
//
// A double array: the child of a unit by byte b is at unit.base ^ b, and exists if the place is
// marked with b (Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure",
// IEEE TSE 1989; addressing by exclusive or). 8 bytes a unit, about one unit a node. Immutable once
// built, safe to use from several threads.
class PieceTrie {
 public:
  struct Unit {
    uint32_t base = 0;  // of the children; 0, where no child is, for none
    uint32_t mark = 0;  // low bits: byte + 1 of the way here, 0 for free; the rest: token + 1
  };
  static constexpr uint32_t kLabelBits = 9;
  static constexpr uint32_t kLabelMask = (1U << kLabelBits) - 1;
  // The most tokens, and (exclusive) the largest number of one, that a unit can hold.
  static constexpr int64_t kMaxPieces = (int64_t{1} << 23) - 1;

  PieceTrie() = default;
  // Each token with its number. Empty tokens are left out; no token may occur twice.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces);

  // A place in the trie; starts at the root.
  class Cursor {
   public:
    explicit Cursor(const PieceTrie& trie) : units_(trie.units_.data()), unit_(units_[0]) {}
    // Goes down by one byte; false, and then of no more use, where no token continues so.
    bool descend(char c) {
      const uint32_t byte = static_cast<uint8_t>(c);
      unit_ = units_[unit_.base ^ byte];
      return (unit_.mark & kLabelMask) == byte + 1;
    }
    // The token that ends here; -1 for none.
    int32_t piece() const { return static_cast<int32_t>(unit_.mark >> kLabelBits) - 1; }

   private:
    const Unit* units_;
    Unit unit_;
  };

 private:
  std::vector<Unit> units_;  // a multiple of 256; 0 is the root, and the only one of the first 256
};

}  // namespace simile::detail

namespace simile {

// Ids are below this, so that a large id alone never takes much memory.
inline constexpr int64_t kMaxTokenIds = int64_t{1} << 22;

// Tokens numbered from 0, found by text or by number.
class Vocabulary {
 public:
  Vocabulary() = default;
  // Each token with its id. Ids may leave gaps, which are empty tokens that find() does not know.
  // Errors (kInput, naming `source`): a negative id, one of `id_bound` or more, an id or a token
  // that occurs twice. With kLastWins a token may: find() gives its largest id, all keep their
  // text.
  enum class Repeats { kRefused, kLastWins };
  Vocabulary(std::vector<std::pair<std::string, int64_t>> entries, int64_t id_bound,
             const std::string& source, Repeats repeats = Repeats::kRefused);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int64_t size() const { return static_cast<int64_t>(begins_.size()) - 1; }  // largest id + 1
  int32_t find(std::string_view token) const;                                // -1 when unknown
  int64_t count() const { return count_; }   // tokens, repeated ones included
  bool repeats() const { return repeats_; }  // whether a token occurs more than once
  // The token numbered `id`, which must be in [0, size()).
  std::string_view token(int32_t id) const {
    return std::string_view(arena_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }

 private:
  struct Slot {
    uint32_t tag = 0;  // half of the token's hash
    int32_t id = -1;   // -1: free
  };

  size_t slot_of(std::string_view token, uint64_t hash) const;  // where it is, or would be

  std::string arena_;                   // all tokens, one after the other
  std::vector<uint32_t> begins_ = {0};  // [size + 1]
  std::vector<Slot> slots_;             // open addressing, a power of two
  int64_t count_ = 0;
  bool repeats_ = false;
};

// A token that is found in the text as such: "[MASK]", "<mask>".
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it as well
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for, in normal form, in the normalised text
};

// A part of a text: an added token, or (id -1) the text between two of them.
struct TextPart {
  Span span;
  int32_t id = -1;
};

// Finds a set of tokens: at each place the longest, from left to right, without overlap, except
// white space that `rstrip` took and the next token begins with. Immutable, for many threads.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  // `patterns` are the texts to look for, one for each token; empty ones are never found.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& patterns);

  bool empty() const { return trie_ == nullptr; }
  // Cuts `text` (which need not be valid UTF-8) into parts in order; empty text has no parts.
  void split(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  size_t find_start(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::shared_ptr<const detail::PieceTrie> trie_;  // null: no tokens
  std::array<bool, 256> starts_{};
  int only_start_ = -1;  // the byte that all tokens start with, when there is just one
};

}  // namespace simile
