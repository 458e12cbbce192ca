// SPDX-License-Identifier: Apache-2.0
#include "simile/text/utf8.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "simile/core/check.h"

namespace simile {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}  // namespace

DecodedCharacter decode_character(std::string_view text, size_t position) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + position;
  const auto length = static_cast<int32_t>(std::min<size_t>(text.size() - position, 4));
  int32_t size = 0;
  UChar32 character = 0;
  U8_NEXT(bytes, size, length, character);
  if (character < 0) return {kReplacementCharacter, static_cast<uint32_t>(size), false};
  return {static_cast<char32_t>(character), static_cast<uint32_t>(size), true};
}

size_t ascii_prefix(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080ULL) break;
  }
  while (i < text.size() && static_cast<uint8_t>(text[i]) < 0x80) ++i;
  return i;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    i += ascii_prefix(text.substr(i));
    if (i == text.size()) break;
    const DecodedCharacter character = decode_character(text, i);
    if (!character.valid) return false;
    i += character.size;
  }
  return true;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += !continues_character(c);
  return count;
}

std::vector<size_t> character_begins(std::string_view text) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!continues_character(text[i])) begins.push_back(i);
  }
  begins.push_back(text.size());
  return begins;
}

std::string_view first_characters(std::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!continues_character(text[end]) && count-- == 0) break;
  }
  return text.substr(0, end);
}

std::string begin_of_text(std::string_view text, size_t bytes) {
  while (bytes > 0 && inside_character(text, bytes)) --bytes;
  return std::string(text.substr(0, bytes));
}

std::string shorten_text(std::string_view text, size_t bytes) {
  return text.size() <= bytes ? std::string(text) : begin_of_text(text, bytes) + "...";
}

int64_t repair_utf8(std::string& text) {
  if (is_valid_utf8(text)) return 0;
  std::string repaired;
  int64_t replaced = 0;
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_character(text, i);
    if (!character.valid) replaced += character.size;
    append_utf8(character.code_point, repaired);
    i += character.size;
  }
  text = std::move(repaired);
  return replaced;
}

size_t control_size(std::string_view text, size_t at) {
  const DecodedCharacter character = decode_character(text, at);
  const char32_t c = character.code_point;
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ? character.size : 0;
}

void append_utf8(char32_t c, std::string& text) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kAlphabet[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

std::string decode_base64(std::string_view text, const std::string& where) {
  static const std::array<int8_t, 256> values = [] {
    std::array<int8_t, 256> table;
    table.fill(-1);
    for (size_t i = 0; i < kAlphabet.size(); ++i) {
      table[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
    }
    return table;
  }();
  SIMILE_CHECK(text.size() % 4 == 0, ErrorKind::kInput,
               "{}: {} characters are no base64; expected a multiple of 4", where, text.size());
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int8_t value = values[static_cast<uint8_t>(text[i])];
    SIMILE_CHECK(value >= 0, ErrorKind::kInput, "{}: character {} is not base64", where, i);
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return bytes;
}

}  // namespace simile
