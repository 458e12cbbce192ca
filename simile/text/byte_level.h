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
#include "simile/text/pre_tokenizer.h"

namespace simile {

// The character that stands for a byte.
char32_t byte_level_character(uint8_t byte);

// Appends the bytes that the characters of `text` stand for. False (with some appended): one of
// them stands for none.
bool decode_byte_level(std::string_view text, std::string& bytes);

// Rewrites `text`, of which only `words` (in order, without overlap) are kept, in byte-level
// characters.
void map_bytes(NormalizedText& text, std::vector<Span>& words);

// "ByteLevel" as a pre-tokeniser: puts a space before each part that has none (add_prefix_space),
// cuts the parts by GPT-2's pattern (use_regex) and leaves the rest to the model (leaves_bytes()).
class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
  bool leaves_bytes() const override { return true; }

 private:
  bool add_prefix_space_;
  bool use_regex_;
};

// "ByteLevel" as a normaliser: the whole text in byte-level characters.
class ByteLevelNormalizer : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override;
};

}  // namespace simile
