// SPDX-License-Identifier: Apache-2.0
// A text on its way through the tokeniser, and where each of its bytes came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Bytes [begin, end) of some text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span& other) const { return begin == other.begin && end == other.end; }
};

struct NormalizedText {
  std::string text;           // valid UTF-8
  bool tracked = false;       // whether origins are kept
  std::vector<Span> origins;  // tracked: for each byte of `text`, the original character's bytes

  // Takes `source`, which begins at byte `offset` of the original, replacing broken UTF-8 by
  // U+FFFD. Returns how many replacements that took.
  int64_t assign(std::string_view source, uint32_t offset, bool track);

  void clear(bool track);
  // Appends one character that stands for the original bytes `origin`.
  void append(char32_t code_point, Span origin);
  // Appends valid UTF-8 that stands, byte for byte, for the origins given (read when tracked).
  void append(std::string_view bytes, const Span* byte_origins);

  // Appends ASCII bytes that stand for the original's bytes from `offset` on.
  void append_ascii(std::string_view bytes, uint32_t offset);

  // Bytes [part.begin, part.end) as a text of their own.
  void copy_part(Span part, NormalizedText& out) const;

  // Where `part` of this text was in the original; part must not be empty, and tracked be set.
  Span origin_of(Span part) const { return {origins[part.begin].begin, origins[part.end - 1].end}; }
};

// Steps in sequence can multiply a text without end. Errors (kInput): more bytes than a text may
// have on its way.
void check_text_size(size_t bytes);

}  // namespace simile
