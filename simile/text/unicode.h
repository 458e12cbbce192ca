// SPDX-License-Identifier: Apache-2.0
// The properties of characters that tokenizers ask for.
//
// They come from ICU, read once for each block of 256 characters and kept, so that a look-up is two
// loads. They are those of the `tokenizers` library 0.23, whose tables are of different age:
// punctuation, control characters and nonspacing marks as in Unicode 8, normalisation forms as in
// Unicode 9, all else as in Unicode 16 (what ICU 72 lacks: detail/newer_characters.h). All
// functions are thread-safe and never fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "simile/text/utf8.h"

namespace simile {

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

// The end of the user-perceived character that starts at text[begin]: an extended grapheme cluster
// of Unicode Standard Annex 29 (rules GB3 to GB13, with the conjuncts of GB9c). `text` is valid
// UTF-8, `begin` the start of a cluster below text.size().
size_t grapheme_end(std::string_view text, size_t begin);

}  // namespace simile
