// SPDX-License-Identifier: Apache-2.0
#include "simile/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simile/core/error.h"

namespace simile {
namespace {

TEST(Utf8, BrokenBytesBecomeOneReplacementForEachMaximalPart) {
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

TEST(Utf8, EveryCharacterIsWrittenAndReadBack) {
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

TEST(Utf8, PlacesOfCharacters) {
  const std::string text = "a\u00E9\u20ACz";
  EXPECT_EQ(character_begins(text), (std::vector<size_t>{0, 1, 3, 6, 7}));
  EXPECT_EQ(character_begins(""), std::vector<size_t>{0});
  EXPECT_EQ(first_characters(text, 0), "");
  EXPECT_EQ(first_characters(text, 3), "a\u00E9\u20AC");
  EXPECT_EQ(first_characters(text, 9), text);
  EXPECT_TRUE(inside_character(text, 2));
  EXPECT_FALSE(inside_character(text, 3));
  EXPECT_FALSE(inside_character(text, 7));
  for (const size_t begin : {0, 1, 3, 6}) {
    EXPECT_EQ(character_size(text[begin]), decode_character(text, begin).size);
  }
  EXPECT_EQ(character_size("\U0001F600"[0]), 4U);
}

TEST(Utf8, ControlCharacters) {
  EXPECT_EQ(control_size("a\x1b", 0), 0U);
  EXPECT_EQ(control_size("a\x1b", 1), 1U);
  EXPECT_EQ(control_size("\x7f", 0), 1U);
  EXPECT_EQ(control_size("\u009b", 0), 2U);
  EXPECT_EQ(control_size("\u00a0", 0), 0U);
  EXPECT_EQ(control_size("\x9b", 0), 0U);  // broken UTF-8
}

TEST(Utf8, RepairReplacesMaximalParts) {
  const std::string bad = "\xEF\xBF\xBD";
  const struct {
    std::string text, repaired;
    int64_t replaced;
  } cases[] = {
      {"plain", "plain", 0},
      {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 0},
      {"caf\xE9!", "caf" + bad + "!", 1},              // Latin-1
      {"\xC0\xAF", bad + bad, 2},                      // overlong
      {"\xE0\x80\x80", bad + bad + bad, 3},            // overlong
      {"\xED\xA0\x80", bad + bad + bad, 3},            // surrogate
      {"\xF4\x90\x80\x80", bad + bad + bad + bad, 4},  // above U+10FFFF
      {"\xE2\x82", bad, 2},                            // cut at the end: one maximal part
      {"\xF0\x9F\x98z", bad + "z", 3},
      {"\xFF\xFE", bad + bad, 2},
      {"\x80", bad, 1},
      {std::string("a\0b", 3), std::string("a\0b", 3), 0},
  };
  for (const auto& c : cases) {
    std::string text = c.text;
    EXPECT_EQ(repair_utf8(text), c.replaced);
    EXPECT_EQ(text, c.repaired);
    EXPECT_EQ(repair_utf8(text), 0) << "repaired text is sound";
  }
}

TEST(Utf8, TheBeginOfATextIsCutBetweenCharacters) {
  EXPECT_EQ(begin_of_text("ab", 2), "ab");
  EXPECT_EQ(begin_of_text("abc", 2), "ab");
  EXPECT_EQ(shorten_text("ab", 2), "ab");
  EXPECT_EQ(shorten_text("a\xC3\xA9z", 2), "a...");
  EXPECT_EQ(begin_of_text("a\xC3\xA9z", 2), "a");
  EXPECT_EQ(begin_of_text("a\xC3\xA9z", 3), "a\xC3\xA9");
  EXPECT_EQ(begin_of_text("\xE2\x82\xAC", 1), "");
}

TEST(Utf8, BytesComeBackFromBase64) {
  const struct {
    const char* bytes;
    const char* text;
  } cases[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
  for (const auto& row : cases) {
    EXPECT_EQ(encode_base64(row.bytes), row.text);
    EXPECT_EQ(decode_base64(row.text, "test"), row.bytes);
  }
  for (const char* text : {"Zg=", "Z", "Zm9*", "=Zm9", "Z==="}) {
    EXPECT_THROW(decode_base64(text, "test"), Error) << text;
  }
}

}  // namespace
}  // namespace simile
