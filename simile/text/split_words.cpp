// SPDX-License-Identifier: Apache-2.0
#include "simile/text/split_words.h"

#include <unicode/uchar.h>

#include "simile/text/unicode.h"

namespace simile {
namespace {

bool is_word_part(UChar32 c) { return u_isalnum(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_character(text, i);
    const auto c = static_cast<UChar32>(character.code_point);
    i += character.size;
    if (!is_word_part(c)) {
      finish_word();
      continue;
    }
    const bool ideograph = c >= 0x2E80 && u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC);
    if (ideograph) finish_word();
    append_utf8(static_cast<char32_t>(u_tolower(c)), word);
    if (ideograph) finish_word();
  }
  finish_word();
  return words;
}

}  // namespace simile
