// SPDX-License-Identifier: Apache-2.0
#include "simile/text/split_pre_tokenizer.h"

#include <unicode/uscript.h>

#include <algorithm>

#include "simile/text/unicode.h"

namespace simile {
namespace {

struct Piece {
  Span span;
  bool is_match;
};

// `part` as matches and what is between them.
void list_pieces(Span part, const std::vector<Span>& matches, bool invert,
                 std::vector<Piece>& pieces) {
  pieces.clear();
  uint32_t done = part.begin;
  for (const Span match : matches) {
    if (done != match.begin) pieces.push_back({{done, match.begin}, invert});
    pieces.push_back({match, !invert});
    done = match.end;
  }
  if (done != part.end) pieces.push_back({{done, part.end}, invert});
}

// Joins each match to the piece before it, but no match to a match.
void merge_with_previous(std::vector<Piece>& pieces) {
  size_t count = 0;
  bool after_match = false;
  for (const Piece piece : pieces) {
    const bool is_match = piece.is_match;
    if (is_match && !after_match && count > 0) {
      pieces[count - 1].span.end = piece.span.end;
    } else {
      pieces[count++] = piece;
    }
    after_match = is_match;
  }
  pieces.resize(count);
}

void merge_with_next(std::vector<Piece>& pieces) {
  std::vector<Piece> merged;
  bool before_match = false;
  for (size_t i = pieces.size(); i-- > 0;) {
    if (pieces[i].is_match && !before_match && !merged.empty()) {
      merged.back().span.begin = pieces[i].span.begin;
    } else {
      merged.push_back(pieces[i]);
    }
    before_match = pieces[i].is_match;
  }
  std::reverse(merged.begin(), merged.end());
  pieces = std::move(merged);
}

void merge_contiguous(std::vector<Piece>& pieces) {
  size_t count = 0;
  for (const Piece piece : pieces) {
    if (count > 0 && pieces[count - 1].is_match == piece.is_match) {
      pieces[count - 1].span.end = piece.span.end;
    } else {
      pieces[count++] = piece;
    }
  }
  pieces.resize(count);
}

// Replaces `words` by what cut(part, words) makes of each of them.
template <typename Cut>
void cut_each(std::vector<Span>& words, const Cut& cut) {
  const std::vector<Span> parts = std::move(words);
  words = {};
  words.reserve(parts.size() + 16);
  for (const Span part : parts) cut(part, words);
}

constexpr int kScriptVersion = 9;  // of the `tokenizers` library's table
constexpr UScriptCode kAnyScript = USCRIPT_INVALID_CODE;

UScriptCode script_of(char32_t c) {
  if (c == ' ' || !exists_in_unicode(c, kScriptVersion)) return kAnyScript;
  // Characters whose script has changed since.
  if (c == 0x589 || c == 0x61C) return USCRIPT_COMMON;
  if (c == 0x953 || c == 0x954) return USCRIPT_DEVANAGARI;
  if (c == 0x30FC) return USCRIPT_HAN;  // the long vowel mark of Hiragana and Katakana
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  if (U_FAILURE(status) || script == USCRIPT_UNKNOWN) return kAnyScript;
  return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
}

}  // namespace

void cut_at_matches(Span part, const std::vector<Span>& matches, SplitBehavior behavior,
                    bool invert, std::vector<Span>& words) {
  thread_local std::vector<Piece> pieces;
  list_pieces(part, matches, invert, pieces);
  if (behavior == SplitBehavior::kMergedWithPrevious) merge_with_previous(pieces);
  if (behavior == SplitBehavior::kMergedWithNext) merge_with_next(pieces);
  if (behavior == SplitBehavior::kContiguous) merge_contiguous(pieces);
  for (const Piece& piece : pieces) {
    if (piece.span.begin == piece.span.end) continue;
    if (behavior == SplitBehavior::kRemoved && piece.is_match) continue;
    words.push_back(piece.span);
  }
}

void SplitPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  thread_local std::vector<Span> matches;
  cut_each(words, [&](Span part, std::vector<Span>& out) {
    matches.clear();
    pattern_.find(std::string_view(text.text).substr(part.begin, part.end - part.begin), matches);
    for (Span& match : matches) match = {match.begin + part.begin, match.end + part.begin};
    cut_at_matches(part, matches, behavior_, invert_, out);
  });
}

void CharacterSplitPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  thread_local std::vector<Span> matches;
  cut_each(words, [&](Span part, std::vector<Span>& out) {
    matches.clear();
    for (uint32_t i = part.begin; i < part.end;) {
      const DecodedCharacter character = decode_valid_character(text.text, i);
      const char32_t c = character.code_point;
      const uint32_t next = i + character.size;
      if ((character_properties(c) & properties_) || (delimiter_ != 0 && c == delimiter_)) {
        matches.push_back({i, next});
      }
      i = next;
    }
    cut_at_matches(part, matches, behavior_, false, out);
  });
}

void WhitespacePreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  cut_each(words, [&](Span part, std::vector<Span>& out) {
    uint8_t current = kWhiteSpace;
    for (uint32_t i = part.begin; i < part.end;) {
      const DecodedCharacter character = decode_valid_character(text.text, i);
      const uint8_t properties = character_properties(character.code_point);
      const uint8_t kind = properties & kWordCharacter ? kWordCharacter : properties & kWhiteSpace;
      const uint32_t next = i + character.size;
      if (kind != kWhiteSpace) {
        if (kind == current) {
          out.back().end = next;
        } else {
          out.push_back({i, next});
        }
      }
      current = kind;
      i = next;
    }
  });
}

void FixedLengthPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  cut_each(words, [&](Span part, std::vector<Span>& out) {
    size_t count = 0;
    for (uint32_t i = part.begin; i < part.end; ++count) {
      const uint32_t next = i + decode_valid_character(text.text, i).size;
      if (count % length_ == 0) {
        out.push_back({i, next});
      } else {
        out.back().end = next;
      }
      i = next;
    }
  });
}

void ScriptPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  cut_each(words, [&](Span part, std::vector<Span>& out) {
    // Before the first character that has a script, nothing is a word.
    const size_t first = out.size();
    UScriptCode last = USCRIPT_CODE_LIMIT;
    for (uint32_t i = part.begin; i < part.end;) {
      const DecodedCharacter character = decode_valid_character(text.text, i);
      const UScriptCode script = script_of(character.code_point);
      if (script != kAnyScript && script != last) {
        if (out.size() > first) out.back().end = i;
        out.push_back({i, part.end});
        last = script;
      }
      i += character.size;
    }
  });
}

}  // namespace simile
