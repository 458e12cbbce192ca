// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <limits>

#include "simile/text/detail/pattern_matcher.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

constexpr size_t kMostRepeats = 1000;
constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

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
    add(characters, character.code_point);
    return true;
  }

  static void add(CharacterClass& characters, char32_t c) {
    if (c < 128) {
      characters.ascii[c] = true;
    } else {
      characters.others.push_back(c);
    }
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
      run.most = kUnbounded;
    } else if (skip('{')) {
      run.least = 0;
      while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
        run.least = run.least * 10 + static_cast<size_t>(pattern_[at_++] - '0');
        if (run.least > kMostRepeats) return false;
      }
      run.most = skip(',') ? kUnbounded : run.least;
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

std::shared_ptr<const PatternMatcher> make_run_matcher(const std::string& pattern) {
  std::vector<Run> runs;
  if (!RunReader(pattern).read(runs)) return nullptr;
  return std::make_shared<RunMatcher>(std::move(runs));
}

}  // namespace simile::detail
