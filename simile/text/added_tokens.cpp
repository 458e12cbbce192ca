// SPDX-License-Identifier: Apache-2.0
#include "simile/text/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "simile/core/error.h"
#include "simile/text/detail/piece_trie.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

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
               ErrorKind::kInput,
               fmt::format("{} added tokens are too many; at most {} are supported",
                           patterns.size(), detail::PieceTrie::kMaxPieces));
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

std::pair<int32_t, size_t> AddedTokenFinder::match(std::string_view text, size_t begin) const {
  std::pair<int32_t, size_t> best{-1, 0};
  detail::PieceTrie::Cursor cursor(*trie_);
  for (size_t i = begin; i < text.size() && cursor.descend(text[i]); ++i) {
    if (cursor.piece() >= 0) best = {cursor.piece(), i + 1 - begin};
  }
  return best;
}

void AddedTokenFinder::split(std::string_view text, std::vector<TextPart>& parts) const {
  parts.clear();
  size_t done = 0;
  for (size_t i = empty() ? text.size() : find_start(text, 0); i < text.size();
       i = find_start(text, i)) {
    const auto [number, size] = match(text, i);
    if (number < 0) {
      ++i;
      continue;
    }
    const AddedToken& token = tokens_[number];
    size_t begin = i;
    size_t end = i + size;
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
