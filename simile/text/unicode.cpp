// SPDX-License-Identifier: Apache-2.0
#include "simile/text/unicode.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

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
  const bool is_ascii = c > ' ' && c < 0x7F && !u_isalnum(static_cast<UChar32>(c));
  if ((category & U_GC_P_MASK) || is_ascii) properties |= kPunctuation;
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

void append_decomposition(bool compatibility, char32_t c, std::u32string& out) {
  if (!exists_in_unicode(c, kNormalizationVersion)) return;
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* normalizer =
      compatibility ? unorm2_getNFKCInstance(&status) : unorm2_getNFCInstance(&status);
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
    append_decomposition(false, c, page->decompositions);
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

// Marks of Unicode 15.1 to 17, which ICU 72 does not know but the `tokenizers` library does.
// Measured by asking the library about every code point; with a newer ICU they say nothing new.
constexpr std::pair<char32_t, char32_t> kNewerMarks[] = {
    {0x897, 0x897},     {0x1ACF, 0x1ADD},   {0x1AE0, 0x1AEB},   {0x10D69, 0x10D6D},
    {0x10EFA, 0x10EFC}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5},
    {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2},
    {0x11B60, 0x11B67}, {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F}, {0x1E5EE, 0x1E5EF},
    {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5}};

int32_t break_class(char32_t c) {
  if (c >= kNewerMarks[0].first) {
    const auto after =
        std::upper_bound(std::begin(kNewerMarks), std::end(kNewerMarks), c,
                         [](char32_t value, const auto& range) { return value < range.first; });
    if (c <= std::prev(after)->second) return U_GCB_EXTEND;
  }
  return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK);
}

bool is_pictographic(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
}

// The viramas of the six scripts whose consonants they join (property Indic_Conjunct_Break).
constexpr std::u32string_view kLinkers = U"\u094D\u09CD\u0ACD\u0B4D\u0C4D\u0D4D";

bool is_conjunct_consonant(char32_t c) {
  if (c < 0x0900 || c > 0x0D7F) return false;
  if (u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_INDIC_SYLLABIC_CATEGORY) !=
      U_INSC_CONSONANT) {
    return false;
  }
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(static_cast<UChar32>(c), &status)) {
    case USCRIPT_BENGALI:
    case USCRIPT_DEVANAGARI:
    case USCRIPT_GUJARATI:
    case USCRIPT_MALAYALAM:
    case USCRIPT_ORIYA:
    case USCRIPT_TELUGU:
      return true;
    default:
      return false;
  }
}

// The state of the cluster so far that decides whether the next character joins it.
class Cluster {
 public:
  explicit Cluster(char32_t first) : last_(break_class(first)) {
    pictograph_ = is_pictographic(first);
    regional_ = last_ == U_GCB_REGIONAL_INDICATOR;
    consonant_ = is_conjunct_consonant(first);
  }

  // Whether `next`, the following character, belongs to the cluster, which it then extends.
  bool take(char32_t next) {
    const int32_t kind = break_class(next);
    if (!joins(next, kind)) return false;
    const bool extends = kind == U_GCB_EXTEND || kind == U_GCB_ZWJ;
    after_pictograph_joiner_ = pictograph_ && kind == U_GCB_ZWJ;
    pictograph_ = (pictograph_ && kind == U_GCB_EXTEND) || is_pictographic(next);
    regional_ = !regional_ && kind == U_GCB_REGIONAL_INDICATOR;
    linked_ =
        extends && consonant_ && (linked_ || kLinkers.find(next) != std::u32string_view::npos);
    consonant_ = (extends && consonant_) || is_conjunct_consonant(next);
    last_ = kind;
    return true;
  }

 private:
  bool joins(char32_t next, int32_t kind) const {
    if (last_ == U_GCB_CR) return kind == U_GCB_LF;
    if (is_line(last_) || is_line(kind)) return false;
    if (joins_hangul(kind)) return true;
    if (kind == U_GCB_EXTEND || kind == U_GCB_ZWJ || kind == U_GCB_SPACING_MARK) return true;
    if (last_ == U_GCB_PREPEND) return true;
    if (linked_ && is_conjunct_consonant(next)) return true;
    if (after_pictograph_joiner_ && is_pictographic(next)) return true;
    return regional_ && kind == U_GCB_REGIONAL_INDICATOR;
  }

  bool joins_hangul(int32_t kind) const {
    switch (last_) {
      case U_GCB_L:
        return kind == U_GCB_L || kind == U_GCB_V || kind == U_GCB_LV || kind == U_GCB_LVT;
      case U_GCB_LV:
      case U_GCB_V:
        return kind == U_GCB_V || kind == U_GCB_T;
      case U_GCB_LVT:
      case U_GCB_T:
        return kind == U_GCB_T;
      default:
        return false;
    }
  }

  static bool is_line(int32_t kind) {
    return kind == U_GCB_CONTROL || kind == U_GCB_CR || kind == U_GCB_LF;
  }

  int32_t last_;                          // break class of the last character
  bool pictograph_ = false;               // ends with a pictograph and its extending characters
  bool after_pictograph_joiner_ = false;  // the same and a zero-width joiner
  bool regional_ = false;                 // ends with an odd number of regional indicators
  bool consonant_ = false;                // ends with a consonant and its extending characters
  bool linked_ = false;                   // the same, a virama among them
};

}  // namespace

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
  append_decomposition(true, c, parts);
  return parts;
}

char32_t compose_characters(char32_t first, char32_t second) {
  UErrorCode status = U_ZERO_ERROR;
  const UChar32 composed = unorm2_composePair(
      unorm2_getNFCInstance(&status), static_cast<UChar32>(first), static_cast<UChar32>(second));
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

size_t grapheme_end(std::string_view text, size_t begin) {
  DecodedCharacter character = decode_valid_character(text, begin);
  size_t end = begin + character.size;
  if (end == text.size()) return end;
  Cluster cluster(character.code_point);
  while (end < text.size()) {
    character = decode_valid_character(text, end);
    if (!cluster.take(character.code_point)) break;
    end += character.size;
  }
  return end;
}

}  // namespace simile
