// SPDX-License-Identifier: Apache-2.0
#include "simile/text/comparison_form.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

bool is_kept(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

std::string fold_case(std::string_view text) {
  std::string folded;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFKCCasefoldInstance(status);
  if (U_SUCCESS(status)) {
    icu::StringByteSink<std::string> sink(&folded);
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                              sink, nullptr, status);
  }
  SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kFailed,
               fmt::format("ICU cannot fold the case of a text: {}", u_errorName(status)));
  return folded;
}

}  // namespace

std::string comparison_form(std::string_view text) {
  std::string folded;
  const bool is_ascii = ascii_prefix(text) == text.size();
  if (!is_ascii) {
    folded = fold_case(text);
    text = folded;
  }
  std::string form;
  form.reserve(text.size());
  bool pending_space = false;
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter c = decode_character(text, i);
    if (!is_kept(c.code_point)) {
      pending_space = !form.empty();
    } else {
      if (pending_space) form.push_back(' ');
      pending_space = false;
      const bool is_upper = c.code_point >= 'A' && c.code_point <= 'Z';
      append_utf8(is_upper ? c.code_point + ('a' - 'A') : c.code_point, form);
    }
    i += c.size;
  }
  return form;
}

std::string comparison_key(std::string_view text) {
  std::string form = comparison_form(text);
  return form.empty() ? std::string(text) : form;
}

int64_t form_words(std::string_view form) {
  const bool is_form = !form.empty() && is_kept(decode_character(form, 0).code_point);
  return !is_form ? 0 : std::count(form.begin(), form.end(), ' ') + 1;
}

}  // namespace simile
