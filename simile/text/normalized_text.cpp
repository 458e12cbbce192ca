// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalized_text.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/text/unicode.h"

namespace simile {

int64_t NormalizedText::assign(std::string_view source, uint32_t offset, bool track) {
  clear(track);
  if (!track && is_valid_utf8(source)) {
    text.assign(source);
    return 0;
  }
  int64_t replaced = 0;
  text.reserve(source.size());
  if (track) origins.reserve(source.size());
  for (size_t i = 0; i < source.size();) {
    const size_t ascii = ascii_prefix(source.substr(i));
    if (ascii > 0) {
      append_ascii(source.substr(i, ascii), static_cast<uint32_t>(offset + i));
      i += ascii;
      continue;
    }
    const DecodedCharacter character = decode_character(source, i);
    const auto begin = static_cast<uint32_t>(offset + i);
    replaced += !character.valid;
    append(character.code_point, {begin, begin + character.size});
    i += character.size;
  }
  return replaced;
}

void NormalizedText::clear(bool track) {
  text.clear();
  origins.clear();
  tracked = track;
}

void NormalizedText::append_ascii(std::string_view bytes, uint32_t offset) {
  text.append(bytes);
  if (!tracked) return;
  const size_t size = origins.size();
  origins.resize(size + bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto begin = static_cast<uint32_t>(offset + i);
    origins[size + i] = {begin, begin + 1};
  }
}

void NormalizedText::append(char32_t code_point, Span origin) {
  append_utf8(code_point, text);
  if (tracked) origins.resize(text.size(), origin);
}

void NormalizedText::append(std::string_view bytes, const Span* byte_origins) {
  text.append(bytes);
  if (tracked) origins.insert(origins.end(), byte_origins, byte_origins + bytes.size());
}

void NormalizedText::copy_part(Span part, NormalizedText& out) const {
  out.clear(tracked);
  out.append(std::string_view(text).substr(part.begin, part.end - part.begin),
             tracked ? origins.data() + part.begin : nullptr);
}

void check_text_size(size_t bytes) {
  constexpr size_t kMost = size_t{1} << 30;
  SIMILE_CHECK(
      bytes <= kMost, ErrorKind::kInput,
      fmt::format("the tokenizer makes {} bytes of a text, more than {}; cut the text into "
                  "pieces",
                  bytes, kMost));
}

}  // namespace simile
