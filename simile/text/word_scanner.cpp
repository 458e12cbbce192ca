// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <limits>

#include "simile/text/detail/pattern_matcher.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

constexpr uint8_t kClasses = kWhiteSpace | kLetter | kNumber;
constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

std::array<uint8_t, 128> make_ascii_table() {
  std::array<uint8_t, 128> table{};
  for (uint32_t c = 0; c < table.size(); ++c) table[c] = character_properties(c) & kClasses;
  return table;
}

// A text with the classes of its characters: white space, letter, number or (0) other.
class ClassifiedText {
 public:
  explicit ClassifiedText(std::string_view text) : text_(text) {
    static const std::array<uint8_t, 128> ascii = make_ascii_table();
    ascii_ = ascii.data();
  }

  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }
  char byte(uint32_t i) const { return text_[i]; }

  uint8_t kind(uint32_t i, uint32_t* length) const {
    const auto lead = static_cast<uint8_t>(text_[i]);
    if (lead < 0x80) {
      *length = 1;
      return ascii_[lead];
    }
    const DecodedCharacter character = decode_valid_character(text_, i);
    *length = character.size;
    return character_properties(character.code_point) & kClasses;
  }

  // The end of the run of at most `most` characters of class `kind` from `i` on.
  uint32_t run(uint32_t i, uint8_t wanted, uint32_t most = kUnbounded) const {
    uint32_t length = 0;
    for (; i < size() && most > 0 && kind(i, &length) == wanted; --most) i += length;
    return i;
  }

 private:
  std::string_view text_;
  const uint8_t* ascii_;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// The end of 's 't 're 've 'm 'll 'd at `i`, where an apostrophe stands; `i` when there is none.
uint32_t contraction_end(const ClassifiedText& text, uint32_t i, bool any_case) {
  const auto at = [&](uint32_t k) {
    if (i + k >= text.size()) return '\0';
    return any_case ? lower(text.byte(i + k)) : text.byte(i + k);
  };
  const char first = at(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return i + 2;
  if ((first == 'r' || first == 'v') && at(2) == 'e') return i + 3;
  if (first == 'l' && at(2) == 'l') return i + 3;
  // Without regard to case, s is also U+017F, the long s.
  if (any_case && first == '\xC5' && at(2) == '\xBF') return i + 3;
  return i;
}

// `\s+(?!\S)|\s+` on the white space [begin, end): before a word its last character is left out.
uint32_t white_space_end(const ClassifiedText& text, uint32_t begin, uint32_t end) {
  if (end == text.size()) return end;
  uint32_t last = end - 1;
  while (last > begin && continues_character(text.byte(last))) --last;
  return last > begin ? last : end;
}

struct ScannerSettings {
  bool any_case = false;         // contractions without regard to case
  bool line_feeds = false;       // line feeds belong to what is before them (Llama 3)
  uint32_t digits = kUnbounded;  // most characters of a number
};

uint32_t gpt2_end(const ClassifiedText& text, uint32_t i, const ScannerSettings&) {
  if (text.byte(i) == '\'') {
    const uint32_t end = contraction_end(text, i, false);
    if (end > i) return end;
  }
  uint32_t length = 0;
  uint8_t kind = text.kind(i, &length);
  uint32_t next = i + length;
  if (text.byte(i) == ' ' && next < text.size()) {
    kind = text.kind(next, &length);
    if (kind != kWhiteSpace) return text.run(next + length, kind);
  }
  if (kind == kWhiteSpace) return white_space_end(text, i, text.run(next, kWhiteSpace));
  return text.run(next, kind);
}

bool is_line_feed(char c) { return c == '\n' || c == '\r'; }

uint32_t other_end(const ClassifiedText& text, uint32_t i) {
  i = text.run(i, 0);
  while (i < text.size() && is_line_feed(text.byte(i))) ++i;
  return i;
}

uint32_t llama_end(const ClassifiedText& text, uint32_t i, const ScannerSettings& settings) {
  if (text.byte(i) == '\'') {
    const uint32_t end = contraction_end(text, i, true);
    if (end > i) return end;
  }
  uint32_t length = 0;
  const uint8_t kind = text.kind(i, &length);
  const uint32_t next = i + length;
  if (kind == kLetter) return text.run(next, kLetter);
  if (kind == kNumber) return text.run(next, kNumber, settings.digits - 1);
  const uint8_t after = next < text.size() ? text.kind(next, &length) : uint8_t{kWhiteSpace};
  if (!is_line_feed(text.byte(i)) && after == kLetter) return text.run(next + length, kLetter);
  if (kind == 0) return other_end(text, i);
  if (text.byte(i) == ' ' && after == 0) return other_end(text, next);
  const uint32_t end = text.run(next, kWhiteSpace);
  for (uint32_t k = end; k > i; --k) {
    if (is_line_feed(text.byte(k - 1))) return k;
  }
  return white_space_end(text, i, end);
}

class WordScanner : public PatternMatcher {
 public:
  explicit WordScanner(const ScannerSettings& settings) : settings_(settings) {}

  void find(std::string_view bytes, std::vector<Span>& matches) const override {
    const ClassifiedText text(bytes);
    for (uint32_t i = 0; i < text.size();) {
      const uint32_t end =
          settings_.line_feeds ? llama_end(text, i, settings_) : gpt2_end(text, i, settings_);
      matches.push_back({i, end});
      i = end;
    }
  }

 private:
  ScannerSettings settings_;
};

struct KnownPattern {
  const char* pattern;
  ScannerSettings settings;
};

const KnownPattern kKnownPatterns[] = {
    {kGpt2Pattern, {}},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", {}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, 3}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, 1}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, kUnbounded}},
};

}  // namespace

std::shared_ptr<const PatternMatcher> make_word_scanner(const std::string& pattern) {
  for (const KnownPattern& known : kKnownPatterns) {
    if (pattern == known.pattern) return std::make_shared<WordScanner>(known.settings);
  }
  return nullptr;
}

}  // namespace simile::detail
