// SPDX-License-Identifier: Apache-2.0
// Pre-tokenisers that cut where something matches: a pattern or a kind of character.
#pragma once

#include <utility>
#include <vector>

#include "simile/text/pre_tokenizer.h"
#include "simile/text/text_pattern.h"

namespace simile {

// What becomes of the matches, shown on "a--b" cut at "-".
enum class SplitBehavior {
  kRemoved,             // "a" "b"
  kIsolated,            // "a" "-" "-" "b"
  kMergedWithPrevious,  // "a-" "-" "b"
  kMergedWithNext,      // "a" "-" "-b"
  kContiguous,          // "a" "--" "b"
};

// Appends the words that `part` is cut into by `matches`, which lie in it in order. With `invert`
// the matches are what is between them, and the other way round. Empty words are left out.
void cut_at_matches(Span part, const std::vector<Span>& matches, SplitBehavior behavior,
                    bool invert, std::vector<Span>& words);

// "Split".
class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(TextPattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;

 private:
  TextPattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// "WhitespaceSplit", "Punctuation", "Digits" and "CharDelimiterSplit": each character for which
// `matches` holds is a match.
class CharacterSplitPreTokenizer : public PreTokenizer {
 public:
  // Has any of the properties (unicode.h) or is `delimiter`; 0 for no delimiter.
  CharacterSplitPreTokenizer(uint8_t properties, char32_t delimiter, SplitBehavior behavior)
      : properties_(properties), delimiter_(delimiter), behavior_(behavior) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;

 private:
  uint8_t properties_;
  char32_t delimiter_;
  SplitBehavior behavior_;
};

// "Whitespace": \w+|[^\w\s]+, the white space between dropped.
class WhitespacePreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
};

// "FixedLength": pieces of `length` characters, the last one shorter.
class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(size_t length) : length_(length) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;

 private:
  size_t length_;
};

// "UnicodeScripts": cuts where the script changes ("Common" and "Inherited" are scripts as well).
// Hiragana and Katakana count as Han; spaces and unassigned characters go with what is before them,
// and are dropped at the beginning.
class ScriptPreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
};

}  // namespace simile
