// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "simile/core/detail/check.h"
#include "simile/text/detail/piece_trie.h"
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
  int64_t size = 0;
  size_t bytes = 0;
  for (const auto& [token, id] : entries) {
    SIMILE_CHECK(id >= 0 && id < id_bound, ErrorKind::kInput,
                 "{}: token \"{}\" has id {}, but ids must number the tokens from 0 to "
                 "{} without gaps",
                 source, token, id, id_bound - 1);
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
