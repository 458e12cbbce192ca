// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "simile/text/text_pattern.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

// Words as GPT-2, Llama 3 and Qwen 2 cut them.

constexpr uint8_t kClasses = kWhiteSpace | kLetter | kNumber;
constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

// A text with the classes of its characters: white space, letter, number or (0) other.
class ClassifiedText {
 public:
  explicit ClassifiedText(std::string_view text) : text_(text) {
    static const std::array<uint8_t, 128> ascii = [] {
      std::array<uint8_t, 128> table{};
      for (uint32_t c = 0; c < table.size(); ++c) table[c] = character_properties(c) & kClasses;
      return table;
    }();
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

// The end of 's 't 're 've 'm 'll 'd at `i`, which is an apostrophe; `i` when there is none.
uint32_t contraction_end(const ClassifiedText& text, uint32_t i, bool any_case) {
  const auto at = [&](uint32_t k) {
    const char c = i + k < text.size() ? text.byte(i + k) : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
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

const std::pair<const char*, ScannerSettings> kKnownPatterns[] = {
    {kGpt2Pattern, {}},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", {}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, 3}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, 1}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {true, true, kUnbounded}},
};

// Alternatives of repeated classes.

constexpr size_t kMostRepeats = 1000;
constexpr size_t kEndless = std::numeric_limits<size_t>::max();

// A class of characters.
struct CharacterClass {
  std::array<bool, 128> ascii{};
  std::u32string others;  // beyond ASCII, one by one
  bool white_space = false;
  bool negated = false;

  bool holds(char32_t c) const {
    if (c < 128) return ascii[c] != negated;
    const bool found = others.find(c) != std::u32string::npos ||
                       (white_space && (character_properties(c) & kWhiteSpace));
    return found != negated;
  }
};

// A class, repeated.
struct Run {
  CharacterClass characters;
  size_t least = 1;
  size_t most = 1;
};

// Reads the expressions that are alternatives of runs; whatever else is not read.
class RunReader {
 public:
  explicit RunReader(std::string_view pattern) : pattern_(pattern) {}

  bool read(std::vector<Run>& runs) {
    if (!is_valid_utf8(pattern_)) return false;
    do {
      Run run;
      if (!read_atom(run.characters) || !read_repeats(run)) return false;
      runs.push_back(std::move(run));
    } while (skip('|'));
    return at_ == pattern_.size();
  }

 private:
  bool skip(char c) {
    if (at_ >= pattern_.size() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool read_character(CharacterClass& characters, std::string_view special) {
    if (at_ >= pattern_.size()) return false;
    if (skip('\\')) return read_escape(characters);
    if (special.find(pattern_[at_]) != std::string_view::npos) return false;
    const DecodedCharacter character = decode_valid_character(pattern_, at_);
    at_ += character.size;
    if (character.code_point < 128) {
      characters.ascii[character.code_point] = true;
    } else {
      characters.others.push_back(character.code_point);
    }
    return true;
  }

  bool read_escape(CharacterClass& characters) {
    if (at_ >= pattern_.size()) return false;
    const char c = pattern_[at_++];
    if (c == 's') {
      characters.white_space = true;
      for (char32_t k = 0; k < 128; ++k) {
        if (character_properties(k) & kWhiteSpace) characters.ascii[k] = true;
      }
      return true;
    }
    const std::string_view names = "nrt";
    const size_t found = names.find(c);
    if (found != std::string_view::npos) {
      characters.ascii[static_cast<uint8_t>("\n\r\t"[found])] = true;
      return true;
    }
    if (static_cast<uint8_t>(c) >= 0x80 ||
        character_properties(static_cast<uint8_t>(c)) & (kWordCharacter | kWhiteSpace | kControl)) {
      return false;
    }
    characters.ascii[static_cast<uint8_t>(c)] = true;
    return true;
  }

  bool read_atom(CharacterClass& characters) {
    if (!skip('[')) return read_character(characters, "|()[]{}*+?.^$");
    characters.negated = skip('^');
    while (!skip(']')) {
      if (!read_character(characters, "[]&-^")) return false;
    }
    return true;
  }

  bool read_repeats(Run& run) {
    if (skip('+')) {
      run.most = kEndless;
    } else if (skip('{')) {
      run.least = 0;
      while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
        run.least = run.least * 10 + static_cast<size_t>(pattern_[at_++] - '0');
        if (run.least > kMostRepeats) return false;
      }
      run.most = skip(',') ? kEndless : run.least;
      if (run.least == 0 || !skip('}')) return false;
    }
    // Lazy and possessive forms, and repeated repeats, are left to others.
    return at_ == pattern_.size() || pattern_[at_] == '|';
  }

  std::string_view pattern_;
  size_t at_ = 0;
};

class RunMatcher : public PatternMatcher {
 public:
  explicit RunMatcher(std::vector<Run> runs) : runs_(std::move(runs)) {
    for (const Run& run : runs_) {
      for (char32_t c = 0; c < 128; ++c) {
        if (run.characters.holds(c)) starts_[c] = true;
      }
    }
  }

  void find(std::string_view text, std::vector<Span>& matches) const override {
    for (size_t i = 0; i < text.size();) {
      const auto lead = static_cast<uint8_t>(text[i]);
      if (lead < 0x80 && !starts_[lead]) {
        ++i;
        continue;
      }
      const size_t end = match(text, i);
      if (end > i) {
        matches.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(end)});
        i = end;
      } else {
        i += decode_valid_character(text, i).size;
      }
    }
  }

 private:
  // The end of the match at `begin`; 0 when there is none.
  size_t match(std::string_view text, size_t begin) const {
    for (const Run& run : runs_) {
      size_t end = begin;
      size_t count = 0;
      while (end < text.size() && count < run.most) {
        const DecodedCharacter character = decode_valid_character(text, end);
        if (!run.characters.holds(character.code_point)) break;
        end += character.size;
        ++count;
      }
      if (count >= run.least) return end;
    }
    return 0;
  }

  std::vector<Run> runs_;
  std::array<bool, 128> starts_{};
};

}  // namespace

std::shared_ptr<const PatternMatcher> make_word_scanner(const std::string& pattern) {
  for (const auto& [known, settings] : kKnownPatterns) {
    if (pattern == known) return std::make_shared<WordScanner>(settings);
  }
  return nullptr;
}

std::shared_ptr<const PatternMatcher> make_run_matcher(const std::string& pattern) {
  std::vector<Run> runs;
  if (!RunReader(pattern).read(runs)) return nullptr;
  return std::make_shared<RunMatcher>(std::move(runs));
}

}  // namespace simile::detail
