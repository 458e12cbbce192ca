// SPDX-License-Identifier: Apache-2.0
#include "simile/text/character_normalizers.h"

#include <gmock/gmock.h>

#include "simile/core/error.h"
#include "simile/text/byte_level.h"
#include "simile/text/replace_normalizer.h"
#include "simile/text/unicode.h"
#include "simile/text/unicode_normalizer.h"

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
    EXPECT_EQ(normalize(UnicodeNormalizer(UnicodeForm::kNfc), item.text).text, item.nfc);
    EXPECT_EQ(normalize(UnicodeNormalizer(UnicodeForm::kNfd), item.text).text, item.nfd);
    EXPECT_EQ(normalize(UnicodeNormalizer(UnicodeForm::kNfkc), item.text).text, item.nfkc);
    EXPECT_EQ(normalize(UnicodeNormalizer(UnicodeForm::kNfkd), item.text).text, item.nfkd);
  }
}

TEST(UnicodeNormalizer, OriginsFollowTheLibrary) {
  EXPECT_EQ(character_origins(normalize(UnicodeNormalizer(UnicodeForm::kNfc), "e\u0301x")),
            (std::vector<Span>{{0, 1}, {3, 4}}));
  EXPECT_EQ(character_origins(normalize(UnicodeNormalizer(UnicodeForm::kNfkd), "\uFB01x")),
            (std::vector<Span>{{0, 3}, {0, 3}, {3, 4}}));
}

TEST(CharacterNormalizers, TextBecomesItsNormalForm) {
  EXPECT_EQ(normalize(LowercaseNormalizer(), "A\u0130\u03A3z").text, "ai\u0307\u03C3z");
  EXPECT_EQ(normalize(StripAccentsNormalizer(), "e\u0301\u0903\u20DDx\u00E9").text, "ex\u00E9");
  EXPECT_EQ(normalize(StripNormalizer(true, true), " \u3000a b\t ").text, "a b");
  EXPECT_EQ(normalize(StripNormalizer(true, false), " a ").text, "a ");
  EXPECT_EQ(normalize(StripNormalizer(false, true), " a ").text, " a");
  EXPECT_EQ(normalize(StripNormalizer(false, false), "  ").text, "  ");
  EXPECT_EQ(normalize(StripNormalizer(false, true), "  ").text, "");
  EXPECT_EQ(normalize(NmtNormalizer(), "a\u0001b\u200Bc\u2028").text, "ab c ");
  EXPECT_EQ(normalize(PrependNormalizer("\u2581"), "a").text, "\u2581a");
  EXPECT_EQ(normalize(PrependNormalizer("\u2581"), "").text, "");
  EXPECT_EQ(normalize(ByteLevelNormalizer(), " \u00E9").text, "\u0120\u00C3\u00A9");
}

TEST(CharacterNormalizers, SequenceOfAnyLengthAppliesEachStep) {
  for (size_t length = 0; length < 5; ++length) {
    std::vector<std::unique_ptr<const Normalizer>> steps;
    std::string expected = "a";
    for (size_t i = 0; i < length; ++i) {
      steps.push_back(std::make_unique<PrependNormalizer>(std::to_string(i)));
      expected = std::to_string(i) + expected;
    }
    EXPECT_EQ(normalize(NormalizerSequence(std::move(steps)), "a").text, expected);
  }
}

TEST(ReplaceNormalizer, ReplacementStandsForTheLastCharacterOfTheMatch) {
  const ReplaceNormalizer replace(TextPattern::literal("ab"), "X\u00E9");
  const NormalizedText out = normalize(replace, "cabd");
  EXPECT_EQ(out.text, "cX\u00E9d");
  EXPECT_EQ(character_origins(out), (std::vector<Span>{{0, 1}, {2, 3}, {2, 3}, {3, 4}}));
  EXPECT_EQ(normalize(ReplaceNormalizer(TextPattern::regex("b*", "test"), "-"), "abb").text, "-a-");
}

TEST(ReplaceNormalizer, EndlessGrowthIsStopped) {
  const ReplaceNormalizer grow(TextPattern::literal("a"), std::string(1 << 20, 'a'));
  NormalizedText raw;
  NormalizedText out;
  raw.assign(std::string(2000, 'a'), 0, false);
  EXPECT_THROW(grow.normalize(raw, out), Error);
}

}  // namespace
}  // namespace simile
