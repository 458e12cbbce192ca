// SPDX-License-Identifier: Apache-2.0
// UTF-8: the one place that knows where a character begins and ends. And bytes as text of 64
// characters. All functions are thread-safe; only decode_base64() fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

constexpr char32_t kReplacementCharacter = 0xFFFD;

struct DecodedCharacter {
  char32_t code_point;
  uint32_t size;  // bytes read, at least 1
  bool valid;     // false: broken bytes, code_point is U+FFFD
};

// The character that starts at text[position]. Broken UTF-8 is cut as the Unicode Standard (table
// 3-8) and browsers do: each maximal valid beginning, or else one byte, is one U+FFFD.
DecodedCharacter decode_character(std::string_view text, size_t position);

// Bytes of the valid character that begins with `lead`.
inline uint32_t character_size(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// decode_character() for text known to be valid.
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

// Whether `byte` is a byte of a character other than its first.
inline bool continues_character(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// Whether a cut before text[at] would cut a character in two; false at the end of the text.
inline bool inside_character(std::string_view text, size_t at) {
  return at < text.size() && continues_character(text[at]);
}

// Number of characters (code points) of valid UTF-8.
size_t count_characters(std::string_view text);

// Where each character of valid UTF-8 begins, and the text's size.
std::vector<size_t> character_begins(std::string_view text);

// The first `count` characters of valid UTF-8, or all if there are fewer.
std::string_view first_characters(std::string_view text, size_t count);

// The first characters of `text` that fit into `bytes` bytes; shorten_text() adds "..." if it cuts.
std::string begin_of_text(std::string_view text, size_t bytes);
std::string shorten_text(std::string_view text, size_t bytes);

// Replaces every broken part (see decode_character) by U+FFFD. Returns the bytes replaced.
int64_t repair_utf8(std::string& text);

// Bytes of the control character (C0, DEL or C1) that text[at] begins; 0 for any other character.
size_t control_size(std::string_view text, size_t at);

void append_utf8(char32_t code_point, std::string& text);

// White space around the fields of files.
constexpr std::string_view kBlankCharacters = " \t\n";

// Whether a text is empty or only such white space.
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlankCharacters) == std::string_view::npos;
}

// `text` without the white space at its ends.
inline std::string trim(std::string_view text) {
  if (is_blank(text)) return "";
  const size_t begin = text.find_first_not_of(kBlankCharacters);
  return std::string(text.substr(begin, text.find_last_not_of(kBlankCharacters) + 1 - begin));
}

// Bytes as base64 (RFC 4648, with padding).
std::string encode_base64(std::string_view bytes);
// Errors (kInput, naming `where`): a character outside the alphabet, a wrong length or padding.
std::string decode_base64(std::string_view text, const std::string& where);

}  // namespace simile
