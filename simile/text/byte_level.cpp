// SPDX-License-Identifier: Apache-2.0
#include "simile/text/byte_level.h"

#include <array>

#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr char32_t kFirstOther = 0x100;  // of the characters for bytes that are not printable
constexpr size_t kOthers = 68;

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<uint8_t, kOthers> others{};  // the bytes of U+0100 onward

  Alphabet() {
    size_t count = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte)) {
        characters[byte] = byte;
      } else {
        characters[byte] = static_cast<char32_t>(kFirstOther + count);
        others[count++] = static_cast<uint8_t>(byte);
      }
    }
  }

  static bool stands_for_itself(char32_t c) {
    return (c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF);
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

// Rewrites `text` part by part: write(part, out) appends what becomes of it.
template <typename Write>
void rewrite(NormalizedText& text, std::vector<Span>& words, const Write& write) {
  NormalizedText out;
  out.clear(text.tracked);
  out.text.reserve(text.text.size() * 2);
  for (Span& word : words) {
    const auto begin = static_cast<uint32_t>(out.text.size());
    write(word, out);
    word = {begin, static_cast<uint32_t>(out.text.size())};
  }
  text = std::move(out);
}

}  // namespace

char32_t byte_level_character(uint8_t byte) { return alphabet().characters[byte]; }

bool decode_byte_level(std::string_view text, std::string& bytes) {
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_valid_character(text, i);
    const char32_t c = character.code_point;
    i += character.size;
    if (Alphabet::stands_for_itself(c)) {
      bytes.push_back(static_cast<char>(c));
    } else if (c >= kFirstOther && c < kFirstOther + kOthers) {
      bytes.push_back(static_cast<char>(alphabet().others[c - kFirstOther]));
    } else {
      return false;
    }
  }
  return true;
}

void map_bytes(NormalizedText& text, std::vector<Span>& words) {
  const Alphabet& table = alphabet();
  rewrite(text, words, [&](Span word, NormalizedText& out) {
    for (uint32_t i = word.begin; i < word.end; ++i) {
      out.append(table.characters[static_cast<uint8_t>(text.text[i])],
                 text.tracked ? text.origins[i] : Span());
    }
  });
}

void add_prefix_spaces(NormalizedText& text, std::vector<Span>& words) {
  if (words.size() == 1 && words[0].begin == 0 && words[0].end == text.text.size()) {
    if (text.text[0] == ' ') return;
    text.text.insert(text.text.begin(), ' ');
    if (text.tracked) text.origins.insert(text.origins.begin(), text.origins.front());
    ++words[0].end;
    return;
  }
  rewrite(text, words, [&](Span word, NormalizedText& out) {
    const Span* origins = text.tracked ? text.origins.data() + word.begin : nullptr;
    if (text.text[word.begin] != ' ') out.append(" ", origins);
    out.append(std::string_view(text.text).substr(word.begin, word.end - word.begin), origins);
  });
}

}  // namespace simile
