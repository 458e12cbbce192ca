// SPDX-License-Identifier: Apache-2.0
#include "simile/text/text_pattern.h"

#include <gmock/gmock.h>

#include <random>

#include "simile/core/error.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using testing::HasSubstr;
using Pieces = std::vector<std::string>;

const char kLlama3[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Pieces pieces(const std::vector<Span>& matches, const std::string& text) {
  Pieces found;
  for (const Span match : matches) {
    found.push_back(text.substr(match.begin, match.end - match.begin));
  }
  return found;
}

Pieces find(const TextPattern& pattern, const std::string& text) {
  std::vector<Span> matches;
  pattern.find(text, matches);
  return pieces(matches, text);
}

Pieces find(const detail::PatternMatcher& matcher, const std::string& text) {
  std::vector<Span> matches;
  matcher.find(text, matches);
  return pieces(matches, text);
}

TEST(TextPattern, LiteralIsFoundWithoutOverlap) {
  EXPECT_EQ(find(TextPattern::literal("aa"), "aaabaa"), (Pieces{"aa", "aa"}));
  EXPECT_EQ(find(TextPattern::literal(""), "abc"), (Pieces{"", "", "", ""}));
  EXPECT_EQ(find(TextPattern::literal(""), ""), Pieces());
}

TEST(TextPattern, Gpt2CutsWords) {
  EXPECT_EQ(find(TextPattern::gpt2(), "Hello  world's 42nd \u00E9t\u00E9!?\n\n I'LL  "),
            (Pieces{"Hello", " ", " world", "'s", " 42", "nd", " \u00E9t\u00E9", "!?", "\n\n", " I",
                    "'", "LL", "  "}));
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> parts = {
      " ",      " ",      "  ",     "\t",         "\n",   "\r",     "\r\n",   "\u00A0",
      "\u3000", "'s",     "'S",     "'\u017F",    "'re",  "'VE",    "'",      "a",
      "Bc",     "\u00E9", "\u4E2D", "7",          "1234", "\u0661", "\u00BD", "_",
      "!",      "?!",     "\u0301", "\U0001F600", "-",    "x",      "''",     "\u2028"};
  std::string text;
  for (size_t i = random() % 12; i > 0; --i) text += parts[random() % parts.size()];
  return text;
}

// The hand-written scanners must find what ICU finds.
TEST(TextPattern, OwnScannersAgreeWithTheExpression) {
  const std::string qwen = std::string(kLlama3).replace(std::string(kLlama3).find("{1,3}"), 5, "");
  const struct {
    std::string pattern;
    bool words;
  } cases[] = {{detail::kGpt2Pattern, true},
               {kLlama3, true},
               {qwen, true},
               {R"(\s{2,}|[\n\r\t])", false},
               {" {2,}", false},
               {R"(\s+)", false},
               {"[a7]+|!", false},
               {R"([^\s'])", false},
               {"''", false}};
  for (const auto& item : cases) {
    const auto own = item.words ? detail::make_word_scanner(item.pattern)
                                : detail::make_run_matcher(item.pattern);
    if (item.pattern == "''") {  // two atoms are not a run
      EXPECT_EQ(own, nullptr);
      continue;
    }
    ASSERT_NE(own, nullptr) << item.pattern;
    const auto regex = detail::make_regex_matcher(item.pattern, "test");
    std::mt19937 random(11);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(find(*own, text), find(*regex, text)) << item.pattern << " on " << text;
    }
  }
}

TEST(TextPattern, ExpressionsHaveRubysSyntax) {
  EXPECT_EQ(find(TextPattern::regex("^a|b$", "test"), "ab\nab"), (Pieces{"a", "b", "a", "b"}));
  EXPECT_EQ(find(TextPattern::regex("a.b", "test"), "a\nb a\rb"), (Pieces{"a\rb"}));
  EXPECT_EQ(find(TextPattern::regex("(?m:a.b)", "test"), "a\nb"), (Pieces{"a\nb"}));
  EXPECT_EQ(find(TextPattern::regex(R"(\h+)", "test"), "xyz1fg"), (Pieces{"1f"}));
  EXPECT_EQ(find(TextPattern::regex("b*", "test"), "abba"), (Pieces{"", "bb", ""}));
}

// What the `tokenizers` library (Oniguruma) finds where ICU's own reading differs.
TEST(TextPattern, ClassesAndEscapesAreThoseOfRuby) {
  const struct {
    const char* pattern;
    const char* text;
    Pieces found;
  } cases[] = {{"[[:punct:]]", "a$b+<^.\U0001F600_", {"$", "+", "<", "^", ".", "\U0001F600", "_"}},
               {"[[:^punct:]]+", "ab$c", {"ab", "c"}},
               {R"([\w]+)", "a\u00B2b_\u00E9", {"a", "b_\u00E9"}},
               {R"(\w+)", "a\u00B2b_\u00E9", {"a\u00B2b_\u00E9"}},
               {R"([^\w]+)", "a\u00B2-b", {"\u00B2-"}},
               {"[[:word:]]+", "a\u00B2b", {"a", "b"}},
               {R"(\bb)", "\u00B2b b", {"b"}},
               {R"(b\B)", "bb b\u00B2", {"b", "b"}},
               {"(?m).", "a\r\nb", {"a", "\r", "\n", "b"}},
               {"(?m:.b)c|.", "\nbc\n", {"\nbc"}},
               {"(?mi)A.", "xa\n", {"a\n"}},
               {"(?-m).", "a\nb", {"a", "b"}},
               {R"(\v)", "a\vb\n", {"\v"}},
               {R"([\b])", "a\bb", {"\b"}},
               {"[]a]+", "x]a", {"]a"}},
               {R"((a)\1)", "aa", {"aa"}},
               {R"([\hz]+)", "fgz1", {"f", "z1"}}};
  for (const auto& item : cases) {
    EXPECT_EQ(find(TextPattern::regex(item.pattern, "test"), item.text), item.found)
        << item.pattern;
  }
}

TEST(TextPattern, WhatIcuWouldReadOtherwiseIsRefused) {
  for (const char* pattern : {R"(\K)", R"(\X)", R"(\O)", R"(\y)", R"(\N)", R"(\101)", R"(\Q.\E)",
                              R"([\R])", "(?s)a", "a{2}+", "a{2,}+"}) {
    try {
      TextPattern::regex(pattern, "file: part");
      FAIL() << "no error: " << pattern;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is not supported")) << pattern;
    }
  }
}

TEST(TextPattern, BrokenExpressionIsRefused) {
  for (const char* pattern : {"[", "(", "a{2,1}", "\\p{Nonsense}", "*"}) {
    try {
      TextPattern::regex(pattern, "file: part");
      FAIL() << "no error: " << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("file: part"));
      EXPECT_THAT(error.what(), HasSubstr(pattern));
    }
  }
}

TEST(TextPattern, ExpressionThatTakesForEverIsStopped) {
  const TextPattern pattern = TextPattern::regex("(a|aa|aaa)+(?=b)", "test");
  try {
    find(pattern, std::string(200, 'a') + "c");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("takes too long"));
  }
  EXPECT_EQ(find(pattern, "aab"), Pieces{"aa"});
}

}  // namespace
}  // namespace simile
