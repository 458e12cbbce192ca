// SPDX-License-Identifier: Apache-2.0
#include "simile/text/split_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace simile {
namespace {

bool is_word_part(UChar32 c) { return u_isalnum(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

void append_utf8(std::string& text, UChar32 c) {
  char bytes[4];
  int32_t length = 0;
  UBool failed = 0;
  U8_APPEND(reinterpret_cast<uint8_t*>(bytes), length, 4, c, failed);
  if (!failed) text.append(bytes, static_cast<size_t>(length));
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  const int32_t size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT(text.data(), i, size, c);
    if (c < 0 || !is_word_part(c)) {
      finish_word();
      continue;
    }
    const bool ideograph = c >= 0x2E80 && u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC);
    if (ideograph) finish_word();
    append_utf8(word, u_tolower(c));
    if (ideograph) finish_word();
  }
  finish_word();
  return words;
}

}  // namespace simile
