// SPDX-License-Identifier: Apache-2.0
#include "simile/text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/text/detail/components.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

std::vector<std::string> split(const std::string& bytes, std::vector<Span> words) {
  NormalizedText text;
  text.assign(bytes, 0, false);
  detail::make_pre_tokenizer({{"type", "BertPreTokenizer"}}, "test")->split(text, words, true);
  std::vector<std::string> parts;
  for (const Span word : words) parts.push_back(bytes.substr(word.begin, word.end - word.begin));
  return parts;
}

TEST(BertPreTokenizer, CutsAtSpaceAndAroundPunctuation) {
  const struct {
    std::string text;
    std::vector<std::string> words;
  } cases[] = {
      {"", {}},
      {"   ", {}},
      {"one", {"one"}},
      {"Hey friend!     How are you?!?",
       {"Hey", "friend", "!", "How", "are", "you", "?", "!", "?"}},
      {"a-b_c$d", {"a", "-", "b", "_", "c", "$", "d"}},
      {"\u00BFQu\u00E9?", {"\u00BF", "Qu\u00E9", "?"}},
      {"5\u20AC\u00A07", {"5\u20AC", "7"}},
      {"\u201Cx\u201D\u2026", {"\u201C", "x", "\u201D", "\u2026"}},
      {"a\u3002\u200Bb", {"a", "\u3002", "\u200Bb"}},
  };
  for (const auto& item : cases) {
    EXPECT_EQ(split(item.text, {{0, static_cast<uint32_t>(item.text.size())}}), item.words);
  }
}

TEST(BertPreTokenizer, CutsEachPartOnItsOwn) {
  EXPECT_EQ(split("ab.cd", {{0, 1}, {1, 4}, {4, 5}}),
            (std::vector<std::string>{"a", "b", ".", "c", "d"}));
}

using Words = std::vector<std::string>;

std::unique_ptr<const PreTokenizer> make_metaspace(const char* scheme, bool is_split = true) {
  return detail::make_pre_tokenizer({{"type", "Metaspace"},
                                     {"replacement", "_"},
                                     {"prepend_scheme", scheme},
                                     {"split", is_split}},
                                    "test");
}

Words split(const PreTokenizer& metaspace, std::string_view text, bool at_start = true) {
  NormalizedText normalized;
  normalized.assign(text, 0, true);
  std::vector<Span> spans;
  if (!text.empty()) spans.push_back({0, static_cast<uint32_t>(text.size())});
  metaspace.split(normalized, spans, at_start);
  Words words;
  for (const Span span : spans) {
    words.push_back(normalized.text.substr(span.begin, span.end - span.begin));
  }
  EXPECT_EQ(normalized.origins.size(), normalized.text.size());
  return words;
}

TEST(Metaspace, SpacesBecomeMarksThatWordsStartWith) {
  const auto metaspace = make_metaspace("always");
  const struct {
    const char* text;
    Words words;
  } cases[] = {
      {"", {}},           {"a", {"_a"}},         {"ab cd", {"_ab", "_cd"}},
      {" a", {"_a"}},     {"_a", {"_a"}},        {"a  b ", {"_a", "_", "_b", "_"}},
      {"  ", {"_", "_"}}, {"a_b", {"_a", "_b"}}, {"a\tb", {"_a\tb"}},
  };
  for (const auto& row : cases) EXPECT_EQ(split(*metaspace, row.text), row.words) << row.text;
}

TEST(Metaspace, MarkIsPutInFrontAsTold) {
  EXPECT_EQ(split(*make_metaspace("never"), "a b"), (Words{"a", "_b"}));
  EXPECT_EQ(split(*make_metaspace("first"), "a b", true), (Words{"_a", "_b"}));
  EXPECT_EQ(split(*make_metaspace("always", false), "a b"), (Words{"_a_b"}));
}

TEST(Metaspace, FirstMeansTheStartOfTheOriginal) {
  const auto first = make_metaspace("first");
  EXPECT_TRUE(first->needs_start());
  NormalizedText text;
  text.assign("ab", 7, true);
  std::vector<Span> words = {{0, 1}, {1, 2}};
  first->split(text, words, false);
  EXPECT_EQ(text.text, "ab");
  text.assign("ab", 0, true);
  words = {{0, 1}, {1, 2}};
  first->split(text, words, false);  // cut before: the first word begins the original
  EXPECT_EQ(text.text, "_ab");
}

TEST(Metaspace, MarksHaveOriginsInTheText) {
  NormalizedText text;
  text.assign("\u00E9 b", 10, true);
  std::vector<Span> words = {{0, 4}};
  make_metaspace("always")->split(text, words, false);
  EXPECT_EQ(text.text, "_\u00E9_b");
  EXPECT_EQ(text.origins, (std::vector<Span>{{10, 12}, {10, 12}, {10, 12}, {12, 13}, {13, 14}}));
}

std::string error_from(const std::string& pre_tokenizer) {
  return error_of([&] {
    Tokenizer::parse(R"({"pre_tokenizer":)" + pre_tokenizer +
                         R"(,"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}})",
                     "small.json");
  });
}

TEST(Metaspace, SettingsThatContradictAreErrors) {
  using testing::HasSubstr;
  EXPECT_EQ(error_from(R"({"type":"Metaspace"})"), "");
  EXPECT_EQ(error_from(R"({"type":"Metaspace","str_rep":"_","add_prefix_space":false})"), "");
  EXPECT_THAT(error_from(R"({"type":"Metaspace","replacement":"ab"})"), HasSubstr("one character"));
  EXPECT_THAT(error_from(R"({"type":"Metaspace","prepend_scheme":"last"})"), HasSubstr("\"last\""));
  EXPECT_THAT(
      error_from(R"({"type":"Metaspace","prepend_scheme":"first","add_prefix_space":false})"),
      HasSubstr("add_prefix_space is false"));
}

}  // namespace
}  // namespace simile
