// SPDX-License-Identifier: Apache-2.0
#include <unicode/uscript.h>

#include <algorithm>
#include <array>

#include "simile/core/check.h"
#include "simile/text/detail/components.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

using PreTokenizerPointer = std::unique_ptr<const PreTokenizer>;

// The treatment of the matches, shown on "a--b" cut at "-".
enum class SplitBehavior {
  kRemoved,             // "a" "b"
  kIsolated,            // "a" "-" "-" "b"
  kMergedWithPrevious,  // "a-" "-" "b"
  kMergedWithNext,      // "a" "-" "-b"
  kContiguous,          // "a" "--" "b"
};

constexpr size_t kKeptParts = size_t{1} << 20;

// Replaces `words` by what cut(part, words) makes of each of them.
template <typename Cut>
void cut_each(std::vector<Span>& words, const Cut& cut) {
  thread_local std::vector<Span> parts;
  parts.assign(words.begin(), words.end());
  words.clear();
  for (const Span part : parts) cut(part, words);
  if (parts.capacity() > kKeptParts) parts = {};
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

// Whether a piece is one word with the piece before it; matches and what is between them alternate.
bool joins(SplitBehavior behavior, bool is_match, bool after_match) {
  switch (behavior) {
    case SplitBehavior::kMergedWithPrevious:
      return is_match && !after_match;
    case SplitBehavior::kMergedWithNext:
      return !is_match && after_match;
    case SplitBehavior::kContiguous:
      return is_match == after_match;
    default:
      return false;
  }
}

// Appends the words that `part` is cut into by `matches`, which lie in it in order.
void cut_at_matches(Span part, const std::vector<Span>& matches, SplitBehavior behavior,
                    bool invert, std::vector<Span>& words) {
  const size_t first = words.size();
  bool after_match = false;
  const auto add = [&](uint32_t begin, uint32_t end, bool is_match) {
    if (words.size() > first && joins(behavior, is_match, after_match)) {
      words.back().end = end;
    } else if (behavior != SplitBehavior::kRemoved || !is_match) {
      words.push_back({begin, end});
    }
    after_match = is_match;
  };
  uint32_t done = part.begin;
  for (const Span match : matches) {
    if (done != match.begin) add(done, match.begin, invert);
    add(match.begin, match.end, !invert);
    done = match.end;
  }
  if (done != part.end) add(done, part.end, invert);
  words.erase(std::remove_if(words.begin() + first, words.end(),
                             [](Span word) { return word.begin == word.end; }),
              words.end());
}

// Appends the matches of a pattern in a part of the text.
void find_matches(const TextPattern& pattern, std::string_view text, Span part,
                  std::vector<Span>& matches) {
  const size_t first = matches.size();
  pattern.find(text.substr(part.begin, part.end - part.begin), matches);
  for (size_t i = first; part.begin > 0 && i < matches.size(); ++i) {
    matches[i] = {matches[i].begin + part.begin, matches[i].end + part.begin};
  }
}

// "Split".
class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(TextPattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
    thread_local std::vector<Span> matches;
    cut_each(words, [&](Span part, std::vector<Span>& out) {
      matches.clear();
      find_matches(pattern_, text.text, part, matches);
      cut_at_matches(part, matches, behavior_, invert_, out);
    });
  }

 private:
  TextPattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// "ByteLevel": puts a space before each part that has none (add_prefix_space), cuts the parts by
// GPT-2's pattern (use_regex) and leaves the rest to the model.
class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonObject& json)
      : add_prefix_space_(json.flag_or("add_prefix_space", true)),
        use_regex_(json.flag_or("use_regex", true)) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
    if (words.empty()) return;
    if (add_prefix_space_) add_prefix_spaces(text, words);
    if (!use_regex_) return;
    cut_each(words, [&](Span part, std::vector<Span>& out) {
      find_matches(TextPattern::gpt2(), text.text, part, out);
    });
  }
  bool leaves_bytes() const override { return true; }

 private:
  bool add_prefix_space_, use_regex_;
};

// "WhitespaceSplit", "Punctuation", "Digits", "CharDelimiterSplit": each of the characters matches.
class CharacterSplitPreTokenizer : public PreTokenizer {
 public:
  // Has any of the properties (unicode.h) or is `delimiter`; 0 for no delimiter.
  CharacterSplitPreTokenizer(uint8_t properties, char32_t delimiter, SplitBehavior behavior)
      : properties_(properties), delimiter_(delimiter), behavior_(behavior) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
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

 private:
  uint8_t properties_;
  char32_t delimiter_;
  SplitBehavior behavior_;
};

// "Whitespace": \w+|[^\w\s]+, the white space between dropped.
class WhitespacePreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
    cut_each(words, [&](Span part, std::vector<Span>& out) {
      uint8_t current = kWhiteSpace;
      for (uint32_t i = part.begin; i < part.end;) {
        const DecodedCharacter character = decode_valid_character(text.text, i);
        const uint8_t properties = character_properties(character.code_point);
        const uint8_t kind =
            properties & kWordCharacter ? kWordCharacter : properties & kWhiteSpace;
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
};

// "FixedLength": pieces of `length` characters, the last one shorter.
class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(const JsonObject& json)
      : length_(static_cast<size_t>(json.integer_or("length", 5, 1, kMaxId))) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
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

 private:
  size_t length_;
};

// "UnicodeScripts": cuts where the script changes ("Common" and "Inherited" are scripts as well).
// Hiragana and Katakana count as Han; spaces and unassigned characters go with what is before them,
// and are dropped at the beginning.
class ScriptPreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
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
};

SplitBehavior read_behavior(const JsonObject& json, const std::string& name) {
  static const std::array<const char*, 5> names = {"Removed", "Isolated", "MergedWithPrevious",
                                                   "MergedWithNext", "Contiguous"};
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kInput,
               "{}: \"behavior\" must be Removed, Isolated, MergedWithPrevious, "
               "MergedWithNext or Contiguous, not \"{}\"",
               json.source(), name);
  return static_cast<SplitBehavior>(found - names.begin());
}

PreTokenizerPointer read_white_space_split(const JsonObject&) {
  return std::make_unique<CharacterSplitPreTokenizer>(kWhiteSpace, 0, SplitBehavior::kRemoved);
}

PreTokenizerPointer read_punctuation(const JsonObject& json) {
  return std::make_unique<CharacterSplitPreTokenizer>(
      kPunctuation, 0, read_behavior(json, json.text_or("behavior", "Isolated")));
}

PreTokenizerPointer read_digits(const JsonObject& json) {
  const bool individual = json.flag_or("individual_digits", false);
  return std::make_unique<CharacterSplitPreTokenizer>(
      kNumber, 0, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

PreTokenizerPointer read_delimiter(const JsonObject& json) {
  const std::string delimiter = json.text("delimiter");
  SIMILE_CHECK(count_characters(delimiter) == 1 && delimiter[0] != '\0', ErrorKind::kInput,
               "{}: \"delimiter\" must be one character, not \"{}\"", json.source(), delimiter);
  return std::make_unique<CharacterSplitPreTokenizer>(
      0, decode_valid_character(delimiter, 0).code_point, SplitBehavior::kRemoved);
}

PreTokenizerPointer read_split(const JsonObject& json) {
  return std::make_unique<SplitPreTokenizer>(read_pattern(json),
                                             read_behavior(json, json.text("behavior")),
                                             json.flag_or("invert", false));
}

template <typename Part>
constexpr auto make = make_part<PreTokenizer, Part>;

}  // namespace

ComponentTable<PreTokenizer> split_pre_tokenizers() {
  return {
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make<ByteLevelPreTokenizer>},
      {"Whitespace", {}, make<WhitespacePreTokenizer>},
      {"WhitespaceSplit", {}, read_white_space_split},
      {"Punctuation", {"behavior"}, read_punctuation},
      {"Digits", {"individual_digits"}, read_digits},
      {"CharDelimiterSplit", {"delimiter"}, read_delimiter},
      {"Split", {"pattern", "behavior", "invert"}, read_split},
      {"FixedLength", {"length"}, make<FixedLengthPreTokenizer>},
      {"UnicodeScripts", {}, make<ScriptPreTokenizer>},
  };
}

}  // namespace simile::detail
