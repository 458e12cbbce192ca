// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalizer.h"

#include <gtest/gtest.h>

#include "simile/core/random.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

const BertNormalizerSettings kUncased{};
const BertNormalizerSettings kCased{true, true, false, false};

NormalizedText normalize(const BertNormalizerSettings& settings, std::string_view text) {
  NormalizedText raw;
  NormalizedText out;
  raw.assign(text, 0, true);
  BertNormalizer(settings).normalize(raw, out);
  return out;
}

TEST(BertNormalizer, TextBecomesItsNormalForm) {
  const struct {
    const char* text;
    const char* uncased;
    const char* cased;
  } cases[] = {
      {"", "", ""},
      {"Hello World", "hello world", "Hello World"},
      {"a\tb\nc\r\nd", "a b c  d", "a b c  d"},
      {"x\u00A0y\u2003z\u3000", "x y z ", "x y z "},
      {"a\u0001b\u007Fc\u200Bd\uFEFFe\u00ADf\u0085g\vh", "abcdefgh", "abcdefgh"},
      {"x\uFFFDy", "xy", "xy"},
      {"x\uE000y\u0378z", "xy\u0378z", "xy\u0378z"},  // private use goes, unassigned stays
      {"Caf\u00E9 cafe\u0301", "cafe cafe", "Caf\u00E9 cafe\u0301"},
      {"\u0130I\u0131", "ii\u0131", "\u0130I\u0131"},
      {"\u03A3\u0391\u03A3", "\u03C3\u03B1\u03C3", "\u03A3\u0391\u03A3"},
      {"Stra\u00DFe \u1E9E", "stra\u00DFe \u00DF", "Stra\u00DFe \u1E9E"},
      {"\u4E2D\u6587ab", " \u4E2D  \u6587 ab", " \u4E2D  \u6587 ab"},
      {"\uD55C", "\u1112\u1161\u11AB", "\uD55C"},
      {"\U0001F600\uFE0F", "\U0001F600", "\U0001F600\uFE0F"},  // the variation selector is a mark
      {"\uFB01\u2167", "\uFB01\u2177", "\uFB01\u2167"},
  };
  for (const auto& item : cases) {
    EXPECT_EQ(normalize(kUncased, item.text).text, item.uncased) << item.text;
    EXPECT_EQ(normalize(kCased, item.text).text, item.cased) << item.text;
  }
}

TEST(BertNormalizer, EachStepCanBeSwitchedOff) {
  const std::string text = "\u00C9\t\u4E2D\u200B";
  EXPECT_EQ(normalize({false, false, false, false}, text).text, text);
  EXPECT_EQ(normalize({true, false, false, false}, text).text, "\u00C9 \u4E2D");
  EXPECT_EQ(normalize({false, true, false, false}, text).text, "\u00C9\t \u4E2D \u200B");
  EXPECT_EQ(normalize({false, false, true, false}, text).text, "E\t\u4E2D\u200B");
  EXPECT_EQ(normalize({false, false, false, true}, text).text, "\u00E9\t\u4E2D\u200B");
  EXPECT_EQ(normalize({false, false, false, true}, "\u0130").text, "i\u0307");
}

TEST(BertNormalizer, SpacingMarksThatStayAreInCanonicalOrder) {
  // U+1D165 has class 216, U+302E class 224; the mark between them is dropped.
  EXPECT_EQ(normalize(kUncased, "a\u302E\u0301\U0001D165b").text, "a\U0001D165\u302Eb");
  EXPECT_EQ(normalize(kUncased, "a\u302Eb\U0001D165").text, "a\u302Eb\U0001D165");
}

TEST(BertNormalizer, ManyMarksTakeNoQuadraticTime) {
  std::string text;
  for (int i = 0; i < 200000; ++i) append_utf8(i % 2 ? 0x302E : 0x1D165, text);
  EXPECT_EQ(normalize(kUncased, text).text.size(), text.size());
}

TEST(BertNormalizer, OriginsPointAtTheOriginalCharacter) {
  const NormalizedText out = normalize(kUncased, "A\u0001\u00C9\u4E2D\xFFz");
  EXPECT_EQ(out.text, "ae \u4E2D z");
  const std::vector<Span> expected = {{0, 1}, {2, 4}, {4, 7}, {4, 7},
                                      {4, 7}, {4, 7}, {4, 7}, {8, 9}};
  EXPECT_EQ(out.origins, expected);
}

TEST(BertNormalizer, TrackingDoesNotChangeTheText) {
  RandomStream random(1, "normalizer test");
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      const uint64_t kind = random.below(4);
      const uint64_t bound = kind == 0 ? 0x80 : kind == 1 ? 0x400 : kind == 2 ? 0x3000 : 0xD800;
      append_utf8(static_cast<char32_t>(random.below(bound)), text);
    }
    const BertNormalizerSettings& settings = round % 2 == 0 ? kUncased : kCased;
    const NormalizedText tracked = normalize(settings, text);
    NormalizedText raw;
    NormalizedText plain;
    raw.assign(text, 0, false);
    BertNormalizer(settings).normalize(raw, plain);
    ASSERT_EQ(plain.text, tracked.text);
    ASSERT_EQ(tracked.origins.size(), tracked.text.size());
    ASSERT_TRUE(is_valid_utf8(plain.text));
    ASSERT_EQ(normalize(settings, plain.text).text.find('\t'), std::string::npos);
  }
}

TEST(NormalizedText, BrokenBytesAreReplacedAndCounted) {
  NormalizedText text;
  EXPECT_EQ(text.assign("a\xE2\x82z\xFF", 10, true), 2);
  EXPECT_EQ(text.text, "a\uFFFDz\uFFFD");
  EXPECT_EQ(text.origin_of({1, 4}), (Span{11, 13}));
  EXPECT_EQ(text.origin_of({0, 8}), (Span{10, 15}));
  EXPECT_EQ(text.assign("fine \u00E9", 0, false), 0);
}

}  // namespace
}  // namespace simile
