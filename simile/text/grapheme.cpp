// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/grapheme.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

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

// The six scripts whose consonants a virama joins (property Indic_Conjunct_Break).
bool is_conjunct_linker(char32_t c) {
  return c == 0x094D || c == 0x09CD || c == 0x0ACD || c == 0x0B4D || c == 0x0C4D || c == 0x0D4D;
}

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

// What of the cluster so far decides whether the next character joins it.
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
    linked_ = extends && consonant_ && (linked_ || is_conjunct_linker(next));
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

}  // namespace simile::detail
