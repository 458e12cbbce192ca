// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "simile/text/detail/components.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(const PreTokenizer& pre_tokenizer, const std::string& bytes) {
  NormalizedText text;
  text.assign(bytes, 0, true);
  std::vector<Span> words = {{0, static_cast<uint32_t>(bytes.size())}};
  pre_tokenizer.split(text, words, true);
  EXPECT_EQ(text.origins.size(), text.text.size());
  Pieces pieces;
  for (const Span word : words)
    pieces.push_back(text.text.substr(word.begin, word.end - word.begin));
  return pieces;
}

Pieces split(const char* json, const std::string& bytes) {
  return split(*detail::make_pre_tokenizer(detail::parse_json(json, "test"), "test"), bytes);
}

TEST(SplitPreTokenizer, BehaviorsFollowTheLibrary) {
  const struct {
    const char* behavior;
    bool invert;
    Pieces pieces;
  } cases[] = {
      {"Removed", false, {"a", "b"}},
      {"Removed", true, {"-", "-", "-", "-", "-", "-"}},
      {"Isolated", false, {"-", "a", "-", "-", "b", "-", "-", "-"}},
      {"Isolated", true, {"-", "a", "-", "-", "b", "-", "-", "-"}},
      {"MergedWithPrevious", false, {"-", "a-", "-", "b-", "-", "-"}},
      {"MergedWithPrevious", true, {"-a", "-", "-b", "-", "-", "-"}},
      {"MergedWithNext", false, {"-a", "-", "-b", "-", "-", "-"}},
      {"MergedWithNext", true, {"-", "a-", "-", "b-", "-", "-"}},
      {"Contiguous", false, {"-", "a", "--", "b", "---"}},
      {"Contiguous", true, {"-", "a", "--", "b", "---"}},
  };
  for (const auto& item : cases) {
    const detail::Json json = {{"type", "Split"},
                               {"pattern", {{"String", "-"}}},
                               {"behavior", item.behavior},
                               {"invert", item.invert}};
    EXPECT_EQ(split(*detail::make_pre_tokenizer(json, "test"), "-a--b---"), item.pieces)
        << item.behavior << item.invert;
  }
}

TEST(SplitPreTokenizer, KindsOfCharacters) {
  EXPECT_EQ(split(R"({"type":"WhitespaceSplit"})", " a\u3000\tb c"), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(split(R"({"type":"Digits","individual_digits":true})", "a12\u00BDb"),
            (Pieces{"a", "1", "2", "\u00BD", "b"}));
  EXPECT_EQ(split(R"({"type":"Digits"})", "a12b"), (Pieces{"a", "12", "b"}));
  EXPECT_EQ(split(R"({"type":"Punctuation"})", "a,,b"), (Pieces{"a", ",", ",", "b"}));
  EXPECT_EQ(split(R"({"type":"CharDelimiterSplit","delimiter":"\u00E9"})", "a\u00E9b\u00E9"),
            (Pieces{"a", "b"}));
  EXPECT_EQ(split(R"({"type":"Whitespace"})", "Hey, it's  a_b \u00E9!?"),
            (Pieces{"Hey", ",", "it", "'", "s", "a_b", "\u00E9", "!?"}));
  EXPECT_EQ(split(R"({"type":"FixedLength","length":2})", "ab\u00E9cd"), (Pieces{"ab",
                                                                                 "\u00E9"
                                                                                 "c",
                                                                                 "d"}));
}

TEST(SplitPreTokenizer, ScriptsChange) {
  EXPECT_EQ(split(R"({"type":"UnicodeScripts"})", "  abc d\u00E9 \u30AB\u3072\u6F22\u30FC. 12x"),
            (Pieces{"abc d\u00E9 ", "\u30AB\u3072\u6F22\u30FC", ". 12", "x"}));
  EXPECT_EQ(split(R"({"type":"UnicodeScripts"})", "  "), Pieces());
}

TEST(ByteLevel, EveryByteHasItsCharacterAndBack) {
  std::string all;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), all);
  }
  std::string bytes;
  ASSERT_TRUE(decode_byte_level(all, bytes));
  ASSERT_EQ(bytes.size(), 256u);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(static_cast<uint8_t>(bytes[byte]), byte);
  }
  EXPECT_EQ(byte_level_character('a'), U'a');
  EXPECT_EQ(byte_level_character(' '), U'\u0120');
  EXPECT_FALSE(decode_byte_level(" ", bytes));
  EXPECT_FALSE(decode_byte_level("\u0144", bytes));
}

TEST(ByteLevel, PartsGetTheirSpaceAndTheirBytes) {
  EXPECT_EQ(split(R"({"type":"ByteLevel"})", "a b's"), (Pieces{" a", " b", "'s"}));
  EXPECT_EQ(split(R"({"type":"ByteLevel","use_regex":false})", " a b"), (Pieces{" a b"}));
  const char* const json = R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},
      {"type":"ByteLevel","add_prefix_space":true,"use_regex":false},
      {"type":"Split","pattern":{"String":"\u0120"},"behavior":"Isolated","invert":false}]})";
  const auto sequence = detail::make_pre_tokenizer(detail::parse_json(json, "test"), "test");
  EXPECT_FALSE(sequence->leaves_bytes());
  EXPECT_EQ(split(*sequence, "a  \u00E9"), (Pieces{"\u0120", "a", "\u0120", "\u00C3\u00A9"}));
}

}  // namespace
}  // namespace simile
