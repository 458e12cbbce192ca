// SPDX-License-Identifier: Apache-2.0
#include "simile/text/unicode.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(Unicode, BrokenBytesBecomeOneReplacementForEachMaximalPart) {
  const struct {
    std::string bytes;
    std::vector<uint32_t> sizes;  // of the replaced parts
  } cases[] = {
      {"\x80", {1}},                       // a following byte alone
      {"\xC0\xAF", {1, 1}},                // overlong
      {"\xE2\x82", {2}},                   // cut short
      {"\xF0\x9F\x98", {3}},               // cut short
      {"\xED\xA0\x80", {1, 1, 1}},         // surrogate
      {"\xF4\x90\x80\x80", {1, 1, 1, 1}},  // beyond U+10FFFF
      {"\xF5\xFF", {1, 1}},                // never valid
      {"\xE2\xE2\x82", {1, 2}},
  };
  for (const auto& item : cases) {
    size_t position = 0;
    for (const uint32_t size : item.sizes) {
      const DecodedCharacter character = decode_character(item.bytes, position);
      EXPECT_FALSE(character.valid);
      EXPECT_EQ(character.code_point, kReplacementCharacter);
      EXPECT_EQ(character.size, size);
      position += character.size;
    }
    EXPECT_EQ(position, item.bytes.size());
    EXPECT_FALSE(is_valid_utf8(item.bytes));
  }
}

TEST(Unicode, EveryCharacterIsWrittenAndReadBack) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    const DecodedCharacter character = decode_character(text, 0);
    ASSERT_TRUE(character.valid) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(character.code_point, c);
    ASSERT_EQ(character.size, text.size());
    ASSERT_EQ(count_characters(text), 1u);
  }
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

}  // namespace
}  // namespace simile
