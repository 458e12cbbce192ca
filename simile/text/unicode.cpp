// SPDX-License-Identifier: Apache-2.0
#include "simile/text/unicode.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include <array>
#include <atomic>
#include <cstring>

#include "simile/text/detail/newer_characters.h"

namespace simile {
namespace {

// The `tokenizers` library has its properties from several tables of different age.
constexpr int kCategoryVersion = 8;       // punctuation, control characters, nonspacing marks
constexpr int kNormalizationVersion = 9;  // decompositions, compositions, combining marks

constexpr uint32_t kPageSize = 256;
constexpr uint32_t kPageCount = 0x110000 / kPageSize;

struct CharacterPage {
  std::array<uint8_t, kPageSize> properties{};
  std::array<uint8_t, kPageSize> combining_classes{};
  std::array<uint16_t, kPageSize + 1> decomposition_begins{};
  std::array<uint16_t, kPageSize + 1> lower_begins{};
  std::u32string decompositions;
  std::u32string lowers;
};

bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126);
}

// Properties that depend on the categories of Unicode 8.
uint8_t compute_older_properties(char32_t c) {
  // Characters whose category has changed since.
  if (c == 0x166D || c == 0x111C9) return kPunctuation;
  if (c == 0x1734) return kNonspacingMark;
  if (c == 0x1885 || c == 0x1886 || c == 0xA9BD) return 0;
  const uint32_t category =
      exists_in_unicode(c, kCategoryVersion) ? U_GET_GC_MASK(static_cast<UChar32>(c)) : 0;
  uint8_t properties = 0;
  if ((category & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) && c != '\t' && c != '\n' &&
      c != '\r') {
    properties |= kControl;
  }
  if ((category & U_GC_P_MASK) || is_ascii_punctuation(c)) properties |= kPunctuation;
  if (category & U_GC_MN_MASK) properties |= kNonspacingMark;
  return properties;
}

uint8_t compute_properties(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  const uint32_t category = U_GET_GC_MASK(code);
  uint8_t properties = compute_older_properties(c);
  if (u_isUWhiteSpace(code)) properties |= kWhiteSpace;
  if (is_cjk_ideograph(c)) properties |= kCjkIdeograph;
  if (category & U_GC_L_MASK) properties |= kLetter;
  if (category & U_GC_N_MASK) properties |= kNumber;
  if (u_isUAlphabetic(code) || (category & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) ||
      u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL)) {
    properties |= kWordCharacter;
  }
  for (const detail::NewerProperties& range : detail::kNewerProperties) {
    if (c >= range.first && c <= range.last) properties |= range.properties;
  }
  return properties;
}

void append_decomposition(const UNormalizer2* normalizer, char32_t c, std::u32string& out) {
  if (!exists_in_unicode(c, kNormalizationVersion)) return;
  UErrorCode status = U_ZERO_ERROR;
  std::array<UChar, 64> units;
  const int32_t length = unorm2_getDecomposition(normalizer, static_cast<UChar32>(c), units.data(),
                                                 static_cast<int32_t>(units.size()), &status);
  if (U_FAILURE(status) || length <= 0) return;
  for (int32_t i = 0; i < length;) {
    UChar32 code = 0;
    U16_NEXT(units.data(), i, length, code);
    out.push_back(static_cast<char32_t>(code));
  }
}

const UNormalizer2* canonical_data() {
  UErrorCode status = U_ZERO_ERROR;
  return unorm2_getNFCInstance(&status);
}

const UNormalizer2* compatibility_data() {
  UErrorCode status = U_ZERO_ERROR;
  return unorm2_getNFKCInstance(&status);
}

void append_lower_case(char32_t c, std::u32string& out) {
  // The one character whose lower case, without context, is two (SpecialCasing.txt).
  if (c == 0x130) {
    out += U"i\u0307";
    return;
  }
  const auto lower = static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
  if (lower != c) {
    out.push_back(lower);
    return;
  }
  for (const detail::NewerLowerCase& range : detail::kNewerLowerCase) {
    if (c >= range.first && c <= range.last) {
      out.push_back(static_cast<char32_t>(static_cast<int64_t>(c) + range.distance));
      return;
    }
  }
}

const CharacterPage* compute_page(uint32_t number) {
  auto* page = new CharacterPage;
  for (uint32_t i = 0; i < kPageSize; ++i) {
    const char32_t c = number * kPageSize + i;
    page->properties[i] = compute_properties(c);
    if (exists_in_unicode(c, kNormalizationVersion)) {
      page->combining_classes[i] = u_getCombiningClass(static_cast<UChar32>(c));
    }
    append_decomposition(canonical_data(), c, page->decompositions);
    page->decomposition_begins[i + 1] = static_cast<uint16_t>(page->decompositions.size());
    append_lower_case(c, page->lowers);
    page->lower_begins[i + 1] = static_cast<uint16_t>(page->lowers.size());
  }
  return page;
}

// Pages live as long as the program, so that no reader can outlive them.
std::array<std::atomic<const CharacterPage*>, kPageCount> pages{};

const CharacterPage& find_page(char32_t c) {
  std::atomic<const CharacterPage*>& entry = pages[c / kPageSize];
  const CharacterPage* page = entry.load(std::memory_order_acquire);
  if (page != nullptr) return *page;
  const CharacterPage* computed = compute_page(c / kPageSize);
  if (entry.compare_exchange_strong(page, computed, std::memory_order_acq_rel)) return *computed;
  delete computed;  // another thread was first
  return *page;
}

// How many of the bytes after a lead byte are needed, and the range of the first of them, which
// shuts out overlong forms, surrogates and numbers beyond U+10FFFF.
struct Lead {
  uint32_t following = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead classify_lead(uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {1};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {2};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {3};
  return {};
}

}  // namespace

DecodedCharacter decode_character(std::string_view text, size_t position) {
  const auto first = static_cast<uint8_t>(text[position]);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = classify_lead(first);
  if (lead.following == 0) return {kReplacementCharacter, 1, false};
  for (uint32_t i = 1; i <= lead.following; ++i) {
    if (position + i >= text.size()) return {kReplacementCharacter, i, false};
    const auto next = static_cast<uint8_t>(text[position + i]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (next < low || next > high) return {kReplacementCharacter, i, false};
  }
  return decode_valid_character(text, position);
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
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  return count;
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

bool exists_in_unicode(char32_t c, int version) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] < version || (age[0] == version && age[1] == 0);
}

uint8_t character_properties(char32_t c) { return find_page(c).properties[c % kPageSize]; }

uint8_t combining_class(char32_t c) { return find_page(c).combining_classes[c % kPageSize]; }

std::u32string_view canonical_decomposition(char32_t c) {
  const CharacterPage& page = find_page(c);
  const uint16_t begin = page.decomposition_begins[c % kPageSize];
  return {page.decompositions.data() + begin,
          static_cast<size_t>(page.decomposition_begins[c % kPageSize + 1] - begin)};
}

std::u32string compatibility_decomposition(char32_t c) {
  std::u32string parts;
  append_decomposition(compatibility_data(), c, parts);
  return parts;
}

char32_t compose_characters(char32_t first, char32_t second) {
  const UChar32 composed = unorm2_composePair(canonical_data(), static_cast<UChar32>(first),
                                              static_cast<UChar32>(second));
  if (composed < 0 || !exists_in_unicode(static_cast<char32_t>(composed), kNormalizationVersion))
    return 0;
  return static_cast<char32_t>(composed);
}

bool is_combining_mark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // other categories since
  return c != 0x111C9 && exists_in_unicode(c, kNormalizationVersion) &&
         (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0;
}

std::u32string_view lower_case(char32_t c) {
  const CharacterPage& page = find_page(c);
  const uint16_t begin = page.lower_begins[c % kPageSize];
  return {page.lowers.data() + begin,
          static_cast<size_t>(page.lower_begins[c % kPageSize + 1] - begin)};
}

}  // namespace simile
