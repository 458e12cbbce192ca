// SPDX-License-Identifier: Apache-2.0
#include "simile/text/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace simile {
namespace {

// Clusters separated by '|'.
std::string cut(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t end = grapheme_end(text, i);
    if (!result.empty()) result += '|';
    result += text.substr(i, end - i);
    i = end;
  }
  return result;
}

TEST(Unicode, PropertiesFollowTheTokenizersLibrary) {
  const struct {
    char32_t code_point;
    uint8_t properties;
  } cases[] = {
      {'a', kWordCharacter | kLetter},
      {'7', kWordCharacter | kNumber},
      {'_', kWordCharacter | kPunctuation},
      {'$', kPunctuation},  // a symbol, but ASCII
      {'`', kPunctuation},
      {0x20AC, 0},  // euro sign: a symbol
      {'\t', kWhiteSpace},
      {'\v', kWhiteSpace | kControl},
      {0, kControl},
      {0x85, kWhiteSpace | kControl},
      {0xA0, kWhiteSpace},
      {0x3000, kWhiteSpace},
      {0x200B, kControl},                   // zero width space: Cf, not white space
      {0x200D, kControl | kWordCharacter},  // joiner
      {0xAD, kControl},                     // soft hyphen
      {0xE000, kControl},                   // private use
      {0x378, 0},                           // unassigned
      {0x2019, kPunctuation},
      {0x301, kNonspacingMark | kWordCharacter},
      {0x4E00, kCjkIdeograph | kWordCharacter | kLetter},
      {0x2CEB0, kWordCharacter | kLetter},  // CJK extension F is outside BERT's ranges
      {0x3042, kWordCharacter | kLetter},   // hiragana
      {0x1F600, 0},
      {0xB2, kNumber},                      // superscript two
      {0x2E43, 0},                          // punctuation since Unicode 9
      {0x8E2, 0},                           // a control character since Unicode 9
      {0x166D, kPunctuation},               // a symbol since Unicode 9
      {0x2EBF0, kWordCharacter | kLetter},  // CJK extension I, of Unicode 15.1
  };
  for (const auto& item : cases) {
    EXPECT_EQ(character_properties(item.code_point), item.properties)
        << std::hex << static_cast<uint32_t>(item.code_point);
  }
}

TEST(Unicode, DecompositionAndLowerCaseAreFull) {
  EXPECT_EQ(canonical_decomposition(U'e'), U"");
  EXPECT_EQ(canonical_decomposition(U'\u00E9'), U"e\u0301");
  EXPECT_EQ(canonical_decomposition(U'\u1EC7'), U"e\u0323\u0302");  // in two steps
  EXPECT_EQ(canonical_decomposition(U'\uD55C'), U"\u1112\u1161\u11AB");
  EXPECT_EQ(canonical_decomposition(U'\uFB01'), U"");  // only compatibility
  EXPECT_EQ(lower_case(U'a'), U"");
  EXPECT_EQ(lower_case(U'A'), U"a");
  EXPECT_EQ(lower_case(U'\u0130'), U"i\u0307");
  EXPECT_EQ(lower_case(U'\u03A3'), U"\u03C3");  // never the final form
  EXPECT_EQ(lower_case(U'\u1E9E'), U"\u00DF");
  EXPECT_EQ(combining_class(0x301), 230);
  EXPECT_EQ(combining_class('a'), 0);
}

TEST(Grapheme, TextIsCutIntoClusters) {
  for (const char* expected : {
           "a|b", "e\u0301|x", "\r\n|\n|\r|a",
           "a|\t|\u0301|b",  // a control character stays alone
           "\u1100\u1161\u11A8|\u1100\u1161|\uAC00\u11A8|\uAC01|\u1161",  // Hangul
           "\U0001F1E9\U0001F1EA|\U0001F1EB\U0001F1F7|\U0001F1E9",        // flags
           "\U0001F469\u200D\U0001F469\u200D\U0001F467|\U0001F44D\U0001F3FD",
           "a\u200D|\U0001F469",                      // a joiner joins pictographs only
           "\u0600\u0661|\u0E01\u0E33|\u0915\u093F",  // prepended, spacing marks
           "\u0915\u094D\u0937\u0301|\u0915",         // conjunct
           "\u0915\u0301\u094D\u200D\u0937",
           "\u1000\u103A|\u1000",  // Burmese has no conjuncts
       }) {
    std::string text;
    for (const char* c = expected; *c != 0; ++c) {
      if (*c != '|') text += *c;
    }
    EXPECT_EQ(cut(text), expected);
  }
}

}  // namespace
}  // namespace simile
