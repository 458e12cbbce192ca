// SPDX-License-Identifier: Apache-2.0
#include "simile/text/pre_tokenizer.h"

#include <algorithm>
#include <array>

#include "simile/text/byte_level.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr uint8_t kSeparators = kWhiteSpace | kPunctuation;

std::array<uint8_t, 128> make_ascii_table() {
  std::array<uint8_t, 128> table{};
  for (uint32_t c = 0; c < table.size(); ++c) table[c] = character_properties(c) & kSeparators;
  return table;
}

void split_part(std::string_view text, Span part, std::vector<Span>& words) {
  static const std::array<uint8_t, 128> ascii = make_ascii_table();
  uint32_t begin = part.begin;
  for (uint32_t i = part.begin; i < part.end;) {
    const auto lead = static_cast<uint8_t>(text[i]);
    uint32_t size = 1;
    uint8_t kind = 0;
    if (lead < 0x80) {
      kind = ascii[lead];
    } else {
      const DecodedCharacter character = decode_valid_character(text, i);
      size = character.size;
      kind = character_properties(character.code_point) & kSeparators;
    }
    const uint32_t next = i + size;
    if (kind != 0) {
      if (begin < i) words.push_back({begin, i});
      if (kind & kPunctuation) words.push_back({i, next});
      begin = next;
    }
    i = next;
  }
  if (begin < part.end) words.push_back({begin, part.end});
}

}  // namespace

void BertPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  if (words.size() == 1) {  // the usual case, without a copy
    const Span whole = words.front();
    words.clear();
    split_part(text.text, whole, words);
    return;
  }
  const std::vector<Span> parts = std::move(words);
  words = {};
  for (const Span part : parts) split_part(text.text, part, words);
}

void PreTokenizerSequence::split(NormalizedText& text, std::vector<Span>& words,
                                 bool at_start) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (i > 0 && steps_[i - 1]->leaves_bytes()) map_bytes(text, words);
    check_text_size(text.text.size());
    steps_[i]->split(text, words, at_start);
  }
}

bool PreTokenizerSequence::leaves_bytes() const {
  return !steps_.empty() && steps_.back()->leaves_bytes();
}

bool PreTokenizerSequence::needs_start() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->needs_start(); });
}

}  // namespace simile
