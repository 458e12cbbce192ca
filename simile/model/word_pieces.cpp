// SPDX-License-Identifier: Apache-2.0
#include "simile/model/word_pieces.h"

#include <string>
#include <string_view>

#include "simile/core/file.h"
#include "simile/text/byte_level.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr std::string_view kContinues = "##";
constexpr std::string_view kSpaces[] = {"\u2581", "\u0120"};

bool has_all_bytes(const Tokenizer& tokenizer) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    if (tokenizer.find(token) < 0) return false;
  }
  return true;
}

bool begins_word(std::string_view text) {
  if (text.empty()) return false;
  const DecodedCharacter first = decode_character(text, 0);
  if (!first.valid) return true;  // a part of a character, which only byte-level tokens are
  return (character_properties(first.code_point) & (kLetter | kNumber)) != 0 ||
         is_combining_mark(first.code_point);
}

bool is_byte_level_word(std::string_view token) {
  std::string bytes;
  if (!decode_byte_level(token, bytes)) return begins_word(token);
  size_t start = 0;
  while (start < bytes.size()) {
    const DecodedCharacter next = decode_character(bytes, start);
    if (!next.valid || (character_properties(next.code_point) & kWhiteSpace) == 0) break;
    start += next.size;
  }
  return begins_word(std::string_view(bytes).substr(start));
}

bool is_word(std::string_view token) {
  if (starts_with(token, kContinues) && token.size() > kContinues.size()) {
    token.remove_prefix(kContinues.size());
  }
  for (const std::string_view space : kSpaces) {
    while (starts_with(token, space)) token.remove_prefix(space.size());
  }
  return begins_word(token);
}

}  // namespace

std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer) {
  const bool byte_level = has_all_bytes(tokenizer);
  std::vector<uint8_t> words(static_cast<size_t>(tokenizer.vocabulary_size()));
  for (size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (tokenizer.is_special(id)) continue;
    const std::string_view token = tokenizer.token(id);
    words[i] = byte_level ? is_byte_level_word(token) : is_word(token);
  }
  return words;
}

}  // namespace simile
