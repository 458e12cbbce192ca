// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "simile/data/line_reader.h"

namespace simile {
namespace {

struct Sequence {
  size_t bytes;  // taken from the text, at least 1
  bool valid;
};

// The character, or the longest beginning of one, at position i.
Sequence read_sequence(const std::string& text, size_t i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return {1, true};
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0) return {1, false};
  // The second byte excludes overlong forms, surrogates and what lies above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t n = 1; n < length; ++n) {
    if (i + n >= text.size()) return {n, false};
    const unsigned char next = byte(i + n);
    if (next < (n == 1 ? low : 0x80) || next > (n == 1 ? high : 0xBF)) return {n, false};
  }
  return {length, true};
}

}  // namespace

int64_t repair_utf8(std::string& text) {
  size_t i = 0;
  while (i < text.size()) {
    const Sequence sequence = read_sequence(text, i);
    if (!sequence.valid) break;
    i += sequence.bytes;
  }
  if (i == text.size()) return 0;
  std::string repaired(text, 0, i);
  int64_t replaced = 0;
  while (i < text.size()) {
    const Sequence sequence = read_sequence(text, i);
    if (sequence.valid) {
      repaired.append(text, i, sequence.bytes);
    } else {
      repaired += "\xEF\xBF\xBD";
      replaced += static_cast<int64_t>(sequence.bytes);
    }
    i += sequence.bytes;
  }
  text = std::move(repaired);
  return replaced;
}

std::string begin_of_text(const std::string& text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string shorten_text(const std::string& text, size_t bytes) {
  return text.size() <= bytes ? text : begin_of_text(text, bytes) + "...";
}

}  // namespace simile
