// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalizer.h"

#include <gmock/gmock.h>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/text/detail/components.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

NormalizedText normalize(const Normalizer& normalizer, const std::string& text) {
  NormalizedText raw;
  NormalizedText out;
  raw.assign(text, 0, true);
  normalizer.normalize(raw, out);
  NormalizedText untracked;
  raw.assign(text, 0, false);
  normalizer.normalize(raw, untracked);
  EXPECT_EQ(out.text, untracked.text) << text;
  EXPECT_EQ(out.origins.size(), out.text.size()) << text;
  return out;
}

// Where each byte came from, as "begin-end" of the first byte of each character.
std::unique_ptr<const Normalizer> make(const std::string& json) {
  return detail::make_normalizer(detail::parse_json(json, "test"), "test");
}

std::string normal_form(const std::string& json, const std::string& text) {
  return normalize(*make(json), text).text;
}

std::vector<Span> character_origins(const NormalizedText& text) {
  std::vector<Span> origins;
  for (size_t i = 0; i < text.text.size(); ++i) {
    if (!continues_character(text.text[i])) origins.push_back(text.origins[i]);
  }
  return origins;
}

TEST(UnicodeNormalizer, FormsOfUnicodeAnnex15) {
  const struct {
    const char *text, *nfc, *nfd, *nfkc, *nfkd;
  } cases[] = {
      {"", "", "", "", ""},
      {"plain", "plain", "plain", "plain", "plain"},
      {"\u00E9", "\u00E9", "e\u0301", "\u00E9", "e\u0301"},
      {"e\u0301", "\u00E9", "e\u0301", "\u00E9", "e\u0301"},
      {"a\u0301\u0323", "\u1EA1\u0301", "a\u0323\u0301", "\u1EA1\u0301", "a\u0323\u0301"},
      {"\uFB01\u00BD", "\uFB01\u00BD", "\uFB01\u00BD", "fi1\u20442", "fi1\u20442"},
      {"\u1E9B\u0323", "\u1E9B\u0323", "\u017F\u0323\u0307", "\u1E69", "s\u0323\u0307"},
      {"\uD55C", "\uD55C", "\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB"},
      {"\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB"},
      {"\u212B", "\u00C5", "A\u030A", "\u00C5", "A\u030A"},
      {"\u0958", "\u0915\u093C", "\u0915\u093C", "\u0915\u093C", "\u0915\u093C"},
      {"\u0301", "\u0301", "\u0301", "\u0301", "\u0301"},
  };
  for (const auto& item : cases) {
    EXPECT_EQ(normal_form(R"({"type":"NFC"})", item.text), item.nfc);
    EXPECT_EQ(normal_form(R"({"type":"NFD"})", item.text), item.nfd);
    EXPECT_EQ(normal_form(R"({"type":"NFKC"})", item.text), item.nfkc);
    EXPECT_EQ(normal_form(R"({"type":"NFKD"})", item.text), item.nfkd);
  }
}

TEST(UnicodeNormalizer, OriginsFollowTheLibrary) {
  EXPECT_EQ(character_origins(normalize(*make_unicode_normalizer(UnicodeForm::kNfc), "e\u0301x")),
            (std::vector<Span>{{0, 1}, {3, 4}}));
  EXPECT_EQ(character_origins(normalize(*make_unicode_normalizer(UnicodeForm::kNfkd), "\uFB01x")),
            (std::vector<Span>{{0, 3}, {0, 3}, {3, 4}}));
}

TEST(CharacterNormalizers, TextBecomesItsNormalForm) {
  EXPECT_EQ(normal_form(R"({"type":"Lowercase"})", "A\u0130\u03A3z"), "ai\u0307\u03C3z");
  EXPECT_EQ(normal_form(R"({"type":"StripAccents"})", "e\u0301\u0903\u20DDx\u00E9"), "ex\u00E9");
  EXPECT_EQ(
      normal_form(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \u3000a b\t "),
      "a b");
  EXPECT_EQ(normal_form(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), "a ");
  EXPECT_EQ(normal_form(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a "), " a");
  EXPECT_EQ(normal_form(R"({"type":"Strip","strip_left":false,"strip_right":false})", "  "), "  ");
  EXPECT_EQ(normal_form(R"({"type":"Strip","strip_left":false,"strip_right":true})", "  "), "");
  EXPECT_EQ(normal_form(R"({"type":"Nmt"})", "a\u0001b\u200Bc\u2028"), "ab c ");
  EXPECT_EQ(normal_form(R"({"type":"Prepend","prepend":"\u2581"})", "a"), "\u2581a");
  EXPECT_EQ(normal_form(R"({"type":"Prepend","prepend":"\u2581"})", ""), "");
  EXPECT_EQ(normal_form(R"({"type":"ByteLevel"})", " \u00E9"), "\u0120\u00C3\u00A9");
}

TEST(CharacterNormalizers, SequenceOfAnyLengthAppliesEachStep) {
  for (size_t length = 0; length < 5; ++length) {
    detail::Json steps = detail::Json::array();
    std::string expected = "a";
    for (size_t i = 0; i < length; ++i) {
      steps.push_back({{"type", "Prepend"}, {"prepend", std::to_string(i)}});
      expected = std::to_string(i) + expected;
    }
    const detail::Json sequence = {{"type", "Sequence"}, {"normalizers", steps}};
    EXPECT_EQ(normalize(*detail::make_normalizer(sequence, "test"), "a").text, expected);
  }
}

TEST(ReplaceNormalizer, ReplacementStandsForTheLastCharacterOfTheMatch) {
  const auto replace = make(R"({"type":"Replace","pattern":{"String":"ab"},"content":"X\u00E9"})");
  const NormalizedText out = normalize(*replace, "cabd");
  EXPECT_EQ(out.text, "cX\u00E9d");
  EXPECT_EQ(character_origins(out), (std::vector<Span>{{0, 1}, {2, 3}, {2, 3}, {3, 4}}));
  EXPECT_EQ(normal_form(R"({"type":"Replace","pattern":{"Regex":"b*"},"content":"-"})", "abb"),
            "-a-");
}

TEST(ReplaceNormalizer, EndlessGrowthIsStopped) {
  const detail::Json json = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1 << 20, 'a')}};
  const auto grow = detail::make_normalizer(json, "test");
  NormalizedText raw;
  NormalizedText out;
  raw.assign(std::string(2000, 'a'), 0, false);
  EXPECT_THROW(grow->normalize(raw, out), Error);
}

TEST(NormalizedText, BrokenBytesAreReplacedAndCounted) {
  NormalizedText text;
  EXPECT_EQ(text.assign("a\xE2\x82z\xFF", 10, true), 2);
  EXPECT_EQ(text.text, "a\uFFFDz\uFFFD");
  EXPECT_EQ(text.origin_of({1, 4}), (Span{11, 13}));
  EXPECT_EQ(text.origin_of({0, 8}), (Span{10, 15}));
  EXPECT_EQ(text.assign("fine \u00E9", 0, false), 0);
}

const BertNormalizerSettings kUncased{};
const BertNormalizerSettings kCased{true, true, false, false};

NormalizedText bert_form(const BertNormalizerSettings& settings, std::string_view text) {
  NormalizedText raw;
  NormalizedText out;
  raw.assign(text, 0, true);
  make_bert_normalizer(settings)->normalize(raw, out);
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
    EXPECT_EQ(bert_form(kUncased, item.text).text, item.uncased) << item.text;
    EXPECT_EQ(bert_form(kCased, item.text).text, item.cased) << item.text;
  }
}

TEST(BertNormalizer, EachStepCanBeSwitchedOff) {
  const std::string text = "\u00C9\t\u4E2D\u200B";
  EXPECT_EQ(bert_form({false, false, false, false}, text).text, text);
  EXPECT_EQ(bert_form({true, false, false, false}, text).text, "\u00C9 \u4E2D");
  EXPECT_EQ(bert_form({false, true, false, false}, text).text, "\u00C9\t \u4E2D \u200B");
  EXPECT_EQ(bert_form({false, false, true, false}, text).text, "E\t\u4E2D\u200B");
  EXPECT_EQ(bert_form({false, false, false, true}, text).text, "\u00E9\t\u4E2D\u200B");
  EXPECT_EQ(bert_form({false, false, false, true}, "\u0130").text, "i\u0307");
}

TEST(BertNormalizer, SpacingMarksThatStayAreInCanonicalOrder) {
  // U+1D165 has class 216, U+302E class 224; the mark between them is dropped.
  EXPECT_EQ(bert_form(kUncased, "a\u302E\u0301\U0001D165b").text, "a\U0001D165\u302Eb");
  EXPECT_EQ(bert_form(kUncased, "a\u302Eb\U0001D165").text, "a\u302Eb\U0001D165");
}

TEST(BertNormalizer, ManyMarksTakeNoQuadraticTime) {
  std::string text;
  for (int i = 0; i < 200000; ++i) append_utf8(i % 2 ? 0x302E : 0x1D165, text);
  EXPECT_EQ(bert_form(kUncased, text).text.size(), text.size());
}

TEST(BertNormalizer, OriginsPointAtTheOriginalCharacter) {
  const NormalizedText out = bert_form(kUncased, "A\u0001\u00C9\u4E2D\xFFz");
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
    const NormalizedText tracked = bert_form(settings, text);
    NormalizedText raw;
    NormalizedText plain;
    raw.assign(text, 0, false);
    make_bert_normalizer(settings)->normalize(raw, plain);
    ASSERT_EQ(plain.text, tracked.text);
    ASSERT_EQ(tracked.origins.size(), tracked.text.size());
    ASSERT_TRUE(is_valid_utf8(plain.text));
    ASSERT_EQ(bert_form(settings, plain.text).text.find('\t'), std::string::npos);
  }
}

}  // namespace
}  // namespace simile
