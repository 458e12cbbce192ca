// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "simile/core/check.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// A hash of short texts.
uint64_t hash_word(std::string_view word) {
  uint64_t hash = word.size() * 0x9E3779B97F4A7C15ULL;
  const char* bytes = word.data();
  size_t left = word.size();
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  };
  for (; left >= 8; left -= 8, bytes += 8) {
    uint64_t value;
    std::memcpy(&value, bytes, 8);
    mix(value);
  }
  if (left >= 4) {
    uint32_t low;
    uint32_t high;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + left - 4, 4);
    mix(low | static_cast<uint64_t>(high) << 32);
  } else if (left > 0) {
    const auto byte = [&](size_t i) {
      return static_cast<uint64_t>(static_cast<uint8_t>(bytes[i]));
    };
    mix(byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16);
  }
  return hash;
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

// The character that ends right before `end`; bytes that are not UTF-8 count as U+FFFD.
DecodedCharacter character_before(std::string_view text, size_t end) {
  for (size_t size = 1; size <= 4 && size <= end; ++size) {
    const DecodedCharacter character = decode_character(text, end - size);
    if (character.valid && character.size == size) return character;
  }
  return {kReplacementCharacter, 1, false};
}

bool is(const DecodedCharacter& character, CharacterProperty property) {
  return (character_properties(character.code_point) & property) != 0;
}

Span make_span(size_t begin, size_t end) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::pair<std::string, int64_t>> entries, int64_t id_bound,
                       const std::string& source, Repeats repeats) {
  count_ = static_cast<int64_t>(entries.size());
  int64_t size = 0;
  size_t bytes = 0;
  for (const auto& [token, id] : entries) {
    SIMILE_CHECK(id >= 0 && id < id_bound, ErrorKind::kInput,
                 "{}: token \"{}\" has id {}; expected 0 to {}", source, token, id, id_bound - 1);
    size = std::max(size, id + 1);
    bytes += token.size();
  }
  SIMILE_CHECK(bytes < std::numeric_limits<uint32_t>::max(), ErrorKind::kInput,
               "{}: the vocabulary is {} bytes long, more than 4 GiB", source, bytes);
  std::vector<const std::string*> by_id(static_cast<size_t>(size), nullptr);
  for (const auto& [token, id] : entries) {
    SIMILE_CHECK(by_id[id] == nullptr, ErrorKind::kInput,
                 "{}: tokens \"{}\" and \"{}\" both have id {}", source, *by_id[id], token, id);
    by_id[id] = &token;
  }
  size_t slot_count = 16;
  while (slot_count < entries.size() * 2) slot_count *= 2;
  slots_.assign(slot_count, {});
  arena_.reserve(bytes);
  begins_.reserve(by_id.size() + 1);
  for (size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id] != nullptr) {
      const std::string& token = *by_id[id];
      const uint64_t hash = hash_word(token);
      Slot& slot = slots_[slot_of(token, hash)];
      const int32_t known = slot.id;
      SIMILE_CHECK(known < 0 || repeats == Repeats::kLastWins, ErrorKind::kInput,
                   "{}: token \"{}\" occurs twice, with ids {} and {}", source, token, known, id);
      repeats_ |= known >= 0;
      arena_ += token;
      slot = {tag_of(hash), static_cast<int32_t>(id)};
    }
    begins_.push_back(static_cast<uint32_t>(arena_.size()));
  }
}

size_t Vocabulary::slot_of(std::string_view name, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id >= 0 &&
         (slots_[slot].tag != tag_of(hash) || token(slots_[slot].id) != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

int32_t Vocabulary::find(std::string_view name) const {
  return slots_.empty() ? -1 : slots_[slot_of(name, hash_word(name))].id;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens,
                                   const std::vector<std::string>& patterns)
    : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, int32_t>> pieces;
  std::set<std::string_view> known;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].empty() || !known.insert(patterns[i]).second) continue;
    pieces.emplace_back(patterns[i], static_cast<int32_t>(i));
    starts_[static_cast<uint8_t>(patterns[i][0])] = true;
  }
  if (pieces.empty()) return;
  SIMILE_CHECK(static_cast<int64_t>(patterns.size()) <= detail::PieceTrie::kMaxPieces,
               ErrorKind::kInput, "{} added tokens are too many; at most {} are supported",
               patterns.size(), detail::PieceTrie::kMaxPieces);
  trie_ = std::make_shared<const detail::PieceTrie>(std::move(pieces));
  if (std::count(starts_.begin(), starts_.end(), true) == 1) {
    only_start_ =
        static_cast<int>(std::find(starts_.begin(), starts_.end(), true) - starts_.begin());
  }
}

size_t AddedTokenFinder::find_start(std::string_view text, size_t begin) const {
  if (only_start_ >= 0) {
    const void* found = begin < text.size()
                            ? std::memchr(text.data() + begin, only_start_, text.size() - begin)
                            : nullptr;
    return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : text.size();
  }
  while (begin < text.size() && !starts_[static_cast<uint8_t>(text[begin])]) ++begin;
  return begin;
}

void AddedTokenFinder::split(std::string_view text, std::vector<TextPart>& parts) const {
  parts.clear();
  size_t done = 0;
  for (size_t i = empty() ? text.size() : find_start(text, 0); i < text.size();
       i = find_start(text, i)) {
    int32_t number = -1;  // of the longest token that starts here
    size_t begin = i, end = i;
    detail::PieceTrie::Cursor cursor(*trie_);
    for (size_t k = i; k < text.size() && cursor.descend(text[k]); ++k) {
      if (cursor.piece() < 0) continue;
      number = cursor.piece();
      end = k + 1;
    }
    if (number < 0) {
      ++i;
      continue;
    }
    const AddedToken& token = tokens_[number];
    i = end;
    const auto touches_word = [&] {
      return (begin > 0 && is(character_before(text, begin), kWordCharacter)) ||
             (end < text.size() && is(decode_character(text, end), kWordCharacter));
    };
    if (token.single_word && touches_word()) continue;
    while (token.lstrip && begin > done) {
      const DecodedCharacter character = character_before(text, begin);
      if (!is(character, kWhiteSpace)) break;
      begin -= character.size;
    }
    if (token.lstrip) begin = std::max(begin, done);
    // A token that begins with this white space is still found, as in the `tokenizers` library.
    while (token.rstrip && end < text.size()) {
      const DecodedCharacter character = decode_character(text, end);
      if (!is(character, kWhiteSpace)) break;
      end += character.size;
    }
    if (begin >= end) continue;  // all of it was taken by the token before
    if (done < begin) parts.push_back({make_span(done, begin), -1});
    parts.push_back({make_span(begin, end), token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({make_span(done, text.size()), -1});
}

}  // namespace simile

namespace simile::detail {
namespace {

constexpr uint32_t kBlock = 256;
// Blocks that are searched for free places. Older ones keep their last gaps.
constexpr uint32_t kOpenBlocks = 16;

struct Piece {
  uint64_t start;  // the first eight bytes, big end first, for fast comparison
  std::string_view text;
  int32_t id;
  bool operator<(const Piece& other) const {
    return start != other.start ? start < other.start : text < other.text;
  }
};

// Hands out places for the children of nodes.
class Places {
 public:
  // A base such that base ^ byte is free for each of `bytes`, which is then taken.
  uint32_t take(const std::vector<uint8_t>& bytes) {
    for (uint32_t place = first_free_; place != kEnd; place = next_[place]) {
      const uint32_t base = place ^ bytes[0];
      const auto is_free = [&](uint8_t byte) { return next_[base ^ byte] != kTaken; };
      if (used_base_[base] || !std::all_of(bytes.begin(), bytes.end(), is_free)) continue;
      return occupy(base, bytes);
    }
    return occupy(add_block() ^ bytes[0], bytes);
  }
  uint32_t size() const { return static_cast<uint32_t>(next_.size()); }

 private:
  static constexpr uint32_t kEnd = 0xFFFFFFFF;
  static constexpr uint32_t kTaken = 0xFFFFFFFE;

  uint32_t occupy(uint32_t base, const std::vector<uint8_t>& bytes) {
    used_base_[base] = true;
    for (const uint8_t byte : bytes) unlink(base ^ byte);
    return base;
  }

  void unlink(uint32_t place) {
    const uint32_t before = before_[place];
    const uint32_t after = next_[place];
    (before == kEnd ? first_free_ : next_[before]) = after;
    (after == kEnd ? last_free_ : before_[after]) = before;
    next_[place] = kTaken;
  }

  // Returns the first place of a new block of free places.
  uint32_t add_block() {
    const uint32_t begin = size();
    for (uint32_t i = 0; begin / kBlock >= kOpenBlocks && i < kBlock; ++i) {  // closes the oldest
      const uint32_t place = begin - kOpenBlocks * kBlock + i;
      if (next_[place] != kTaken) unlink(place);
    }
    next_.resize(begin + kBlock);
    before_.resize(begin + kBlock);
    used_base_.resize(begin + kBlock, false);
    for (uint32_t place = begin; place < begin + kBlock; ++place) {
      before_[place] = last_free_;
      next_[place] = kEnd;
      (last_free_ == kEnd ? first_free_ : next_[last_free_]) = place;
      last_free_ = place;
    }
    return begin;
  }

  // Free places as a list in both directions. The first block stays empty: base 0 means none.
  std::vector<uint32_t> next_ = std::vector<uint32_t>(kBlock, kTaken);
  std::vector<uint32_t> before_ = std::vector<uint32_t>(kBlock, kEnd);
  std::vector<bool> used_base_ = std::vector<bool>(kBlock, true);
  uint32_t first_free_ = kEnd;
  uint32_t last_free_ = kEnd;
};

// The sorted pieces [begin, end), which share their first `depth` bytes and the unit these lead to.
struct Range {
  size_t begin, end, depth;
  uint32_t unit;
};

}  // namespace

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
  std::vector<Piece> sorted;
  sorted.reserve(pieces.size());
  for (const auto& [text, id] : pieces) {
    uint64_t start = 0;
    for (size_t i = 0; i < 8; ++i) {
      start = start << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
    }
    if (!text.empty()) sorted.push_back({start, text, id});
  }
  std::sort(sorted.begin(), sorted.end());
  Places places;
  std::vector<Unit> units(places.size());
  std::vector<Range> open = {{0, sorted.size(), 0, 0}};
  std::vector<uint8_t> bytes;
  std::vector<size_t> begins;
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    bytes.clear();
    begins.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const std::string_view text = sorted[i].text;
      if (text.size() == range.depth) {
        units[range.unit].mark |= static_cast<uint32_t>(sorted[i].id + 1) << kLabelBits;
        continue;
      }
      const auto byte = static_cast<uint8_t>(text[range.depth]);
      if (!bytes.empty() && bytes.back() == byte) continue;
      bytes.push_back(byte);
      begins.push_back(i);
    }
    if (bytes.empty()) continue;
    const uint32_t base = places.take(bytes);
    units.resize(places.size());
    units[range.unit].base = base;
    begins.push_back(range.end);
    for (size_t k = bytes.size(); k-- > 0;) {
      const uint32_t child = base ^ bytes[k];
      units[child].mark = bytes[k] + 1U;
      open.push_back({begins[k], begins[k + 1], range.depth + 1, child});
    }
  }
  units.shrink_to_fit();
  units_ = std::move(units);
}

}  // namespace simile::detail
