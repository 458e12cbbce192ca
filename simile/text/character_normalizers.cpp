// SPDX-License-Identifier: Apache-2.0
#include "simile/text/character_normalizers.h"

#include <algorithm>

#include "simile/text/detail/aligned_writer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// Copies the characters for which `keep` holds.
template <typename Keep>
void filter(const NormalizedText& in, NormalizedText& out, const Keep& keep) {
  detail::AlignedWriter writer(in, out);
  size_t begin = 0;  // of the run not yet written
  for (size_t i = 0; i < in.text.size();) {
    const DecodedCharacter character = decode_valid_character(in.text, i);
    if (!keep(character.code_point)) {
      writer.copy(begin, i - begin);
      begin = i + character.size;
    }
    i += character.size;
  }
  writer.copy(begin, in.text.size() - begin);
}

bool is_white_space(char32_t c) { return (character_properties(c) & kWhiteSpace) != 0; }

bool nmt_drops(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool nmt_makes_space(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

}  // namespace

void LowercaseNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  detail::AlignedWriter writer(in, out);
  for (size_t i = 0; i < in.text.size();) {
    const size_t ascii = ascii_prefix(std::string_view(in.text).substr(i));
    if (ascii > 0) {
      const size_t begin = out.text.size();
      writer.copy(i, ascii);
      for (size_t k = begin; k < out.text.size(); ++k) {
        const auto c = static_cast<uint8_t>(out.text[k]);
        if (c >= 'A' && c <= 'Z') out.text[k] = static_cast<char>(c | 0x20);
      }
      i += ascii;
      continue;
    }
    const DecodedCharacter character = decode_valid_character(in.text, i);
    const std::u32string_view lower = lower_case(character.code_point);
    if (lower.empty()) {
      writer.copy(i, character.size);
    } else {
      for (size_t k = 0; k < lower.size(); ++k) writer.put(lower[k], k == 0 ? 0 : 1);
    }
    i += character.size;
  }
}

void StripAccentsNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  filter(in, out, [](char32_t c) { return c < 0x80 || !is_combining_mark(c); });
}

void StripNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  size_t begin = 0;
  size_t end = 0;  // of the last character that is not white space
  bool seen = false;
  for (size_t i = 0; i < in.text.size();) {
    const DecodedCharacter character = decode_valid_character(in.text, i);
    if (!is_white_space(character.code_point)) {
      if (!seen) begin = i;
      seen = true;
      end = i + character.size;
    }
    i += character.size;
  }
  if (!seen) begin = end = (left_ || right_) ? in.text.size() : 0;
  if (!left_ && seen) begin = 0;
  if (!right_) end = in.text.size();
  detail::AlignedWriter(in, out).copy(begin, end - begin);
}

void NmtNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  NormalizedText kept;
  filter(in, kept, [](char32_t c) { return !nmt_drops(c); });
  detail::AlignedWriter writer(kept, out);
  for (size_t i = 0; i < kept.text.size();) {
    const DecodedCharacter character = decode_valid_character(kept.text, i);
    if (nmt_makes_space(character.code_point)) {
      writer.put(' ', 0);
    } else {
      writer.copy(i, character.size);
    }
    i += character.size;
  }
}

void PrependNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  detail::AlignedWriter writer(in, out);
  if (in.text.empty()) return;
  const std::vector<Span> origins(in.tracked ? prefix_.size() : 0,
                                  in.tracked ? in.origins.front() : Span());
  out.append(prefix_, origins.data());
  writer.copy(0, in.text.size());
}

void NormalizerSequence::normalize(const NormalizedText& in, NormalizedText& out) const {
  if (steps_.empty()) {
    out = in;
    return;
  }
  thread_local NormalizedText spare;
  NormalizedText between;
  std::swap(between, spare);  // sequences may stand in sequences
  NormalizedText* from = &between;
  NormalizedText* to = &out;
  if (steps_.size() % 2 == 0) std::swap(from, to);
  steps_.front()->normalize(in, *to);
  for (size_t i = 1; i < steps_.size(); ++i) {
    std::swap(from, to);
    check_text_size(from->text.size());
    steps_[i]->normalize(*from, *to);
  }
  if (between.text.capacity() < (size_t{1} << 20)) std::swap(between, spare);
}

}  // namespace simile
