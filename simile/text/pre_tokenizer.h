// SPDX-License-Identifier: Apache-2.0
// The second step of tokenising: cutting the normalised text into words.
//
// A pre-tokenizer is an immutable object, safe to use from several threads. make_pre_tokenizer()
// makes it from the "pre_tokenizer" of a tokenizer.json (detail/components.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalizer.h"
#include "simile/text/text_pattern.h"

namespace simile {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces `words`, which are parts of `text` in order, by the words they are cut into. May
  // rewrite `text` itself (as byte-level pre-tokenizers do). `at_start`: `text` begins at byte 0.
  virtual void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const = 0;
  // Whether the words are left as plain UTF-8 that is to be read as byte-level characters, one for
  // each byte: by the model itself, or after map_bytes() has written them out.
  virtual bool leaves_bytes() const { return false; }
  // Whether split() needs the exact `at_start`, which takes origins: without them a text whose
  // first characters the normaliser dropped counts as the beginning of the original.
  virtual bool needs_start() const { return false; }
};

// Byte-level tokenising (GPT-2): every byte of the text is written as one visible character, so
// that a vocabulary of characters covers all bytes. Printable Latin-1 bytes become themselves, the
// others, in order, U+0100 onward; a space becomes U+0120. This is the character of a byte.
//
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019 (encoder.py).
char32_t byte_level_character(uint8_t byte);

// Appends the bytes that the characters of `text` represent. False (some appended): one has none.
bool decode_byte_level(std::string_view text, std::string& bytes);

// Rewrites `words` of `text` (in order, disjoint) in byte-level characters, drops the rest.
void map_bytes(NormalizedText& text, std::vector<Span>& words);

// Puts a space before each of `words` (as above) that does not begin with one.
void add_prefix_spaces(NormalizedText& text, std::vector<Span>& words);

}  // namespace simile
