// SPDX-License-Identifier: Apache-2.0
// Byte-level tokenising (GPT-2): every byte of the text is written as one visible character, so
// that a vocabulary of characters covers all bytes. Printable Latin-1 bytes stand for themselves,
// the others, in order, for U+0100 onward; a space is U+0120.
//
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019 (their code,
// encoder.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalizer.h"

namespace simile {

// The character that stands for a byte.
char32_t byte_level_character(uint8_t byte);

// Appends the bytes that the characters of `text` stand for. False (with some appended): one of
// them stands for none.
bool decode_byte_level(std::string_view text, std::string& bytes);

// Rewrites `text`, of which only `words` (in order, without overlap) are kept, in byte-level
// characters.
void map_bytes(NormalizedText& text, std::vector<Span>& words);

// Puts a space before each of `words` (as above) that does not begin with one.
void add_prefix_spaces(NormalizedText& text, std::vector<Span>& words);

}  // namespace simile
