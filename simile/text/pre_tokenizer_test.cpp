// SPDX-License-Identifier: Apache-2.0
#include "simile/text/pre_tokenizer.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

std::vector<std::string> split(const std::string& bytes, std::vector<Span> words) {
  NormalizedText text;
  text.assign(bytes, 0, false);
  BertPreTokenizer().split(text, words, true);
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

}  // namespace
}  // namespace simile
