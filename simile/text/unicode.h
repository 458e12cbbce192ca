// SPDX-License-Identifier: Apache-2.0
// UTF-8 and the character properties that tokenisers ask for.
//
// Properties come from ICU, read once for each block of 256 characters and kept, so that a look-up
// is two loads. They are those that the `tokenizers` library 0.23 has, whose tables are of
// different age: punctuation, control characters and nonspacing marks as in Unicode 8,
// normalisation forms as in Unicode 9, all else as in Unicode 16 (what ICU 72 lacks:
// detail/newer_characters.h). All functions are thread-safe and never fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace simile {

constexpr char32_t kReplacementCharacter = 0xFFFD;

struct DecodedCharacter {
  char32_t code_point;
  uint32_t size;  // bytes read, at least 1
  bool valid;     // false: broken bytes, code_point is U+FFFD
};

// The character that starts at text[position]. Broken UTF-8 is cut as the Unicode Standard (table
// 3-8) and browsers do: each maximal valid beginning of a sequence, or else one byte, is one
// U+FFFD.
DecodedCharacter decode_character(std::string_view text, size_t position);

// The same for text known to be valid.
inline DecodedCharacter decode_valid_character(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<uint8_t>(text[position + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2, true};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3, true};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4, true};
}

bool is_valid_utf8(std::string_view text);

// Number of leading bytes below 0x80.
size_t ascii_prefix(std::string_view text);

// Number of characters (code points) of valid UTF-8.
size_t count_characters(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

// Properties as Hugging Face's `tokenizers` uses them.
enum CharacterProperty : uint8_t {
  kWhiteSpace = 1,      // property White_Space
  kControl = 2,         // Cc, Cf and Co, without tab, line feed and carriage return; not Cn
  kPunctuation = 4,     // P*, and the ASCII symbols $ + < = > ^ ` | ~
  kNonspacingMark = 8,  // Mn
  kCjkIdeograph = 16,   // the ranges that BERT surrounds with spaces
  kWordCharacter = 32,  // \w of regular expressions: letters, marks, digits, connectors
  kLetter = 64,         // L*
  kNumber = 128,        // N*
};
uint8_t character_properties(char32_t code_point);

// Whether Unicode `version`.0 had the character.
bool exists_in_unicode(char32_t code_point, int version);

// Canonical combining class; 0 for starters.
uint8_t combining_class(char32_t code_point);

// Full canonical decomposition; empty when the character is its own.
std::u32string_view canonical_decomposition(char32_t code_point);

// Full compatibility decomposition; empty when the character is its own.
std::u32string compatibility_decomposition(char32_t code_point);

// The character that two characters compose to canonically; 0 when there is none.
char32_t compose_characters(char32_t first, char32_t second);

// Category M of Unicode 9: what "StripAccents" drops.
bool is_combining_mark(char32_t code_point);

// Full lower case without regard to context; empty when the character is its own.
std::u32string_view lower_case(char32_t code_point);

}  // namespace simile
