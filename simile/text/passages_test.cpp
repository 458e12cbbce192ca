// SPDX-License-Identifier: Apache-2.0
#include "simile/text/passages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Tokenizer make_passage_tokenizer() {
  const std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",
                                           "b",     "##a",   "##b",   ".",     "中",     "é"};
  BertTokenizerSettings settings;
  settings.strip_accents = 0;
  return Tokenizer::from_vocabulary(tokens, settings, "test");
}

std::vector<std::string> pieces(const std::string& text, int64_t tokens, int64_t overlap) {
  std::vector<std::string> found;
  for (const Passage& passage : split_passages(text, make_passage_tokenizer(), {tokens, overlap})) {
    found.push_back(text.substr(static_cast<size_t>(passage.begin),
                                static_cast<size_t>(passage.end - passage.begin)));
  }
  return found;
}

TEST(Passages, ShortTextsAreNotSplit) {
  EXPECT_THAT(pieces("a b a b", 4, 2), IsEmpty());
  EXPECT_THAT(pieces("", 4, 2), IsEmpty());
  EXPECT_THAT(pieces("a b a b a b", 0, 0), IsEmpty());
}

TEST(Passages, TextsOfUpToSoManyTokensStayWhole) {
  const Tokenizer tokenizer = make_passage_tokenizer();
  const std::string text = "a b a b a b";
  EXPECT_THAT(split_passages(text, tokenizer, {4, 0, 6}), IsEmpty());
  EXPECT_EQ(split_passages(text, tokenizer, {4, 0, 5}), split_passages(text, tokenizer, {4, 0, 0}));
  EXPECT_EQ(split_passages(text, tokenizer, {4, 0, 5}).size(), 2u);
}

TEST(Passages, OverlapByTokensAndEndBetweenWords) {
  EXPECT_THAT(pieces("a b ab aa  bb\nb a", 4, 2),
              ElementsAre("a b ab", "ab aa", "aa  bb", "bb\nb a"));
  EXPECT_THAT(pieces(" a b  a b a ", 4, 0), ElementsAre("a b  a b", "a"));
  EXPECT_THAT(pieces("a b a b a b a b", 4, 2), ElementsAre("a b a b", "a b a b", "a b a b"));
}

TEST(Passages, WithoutWhiteSpaceTheyEndBetweenTokens) {
  EXPECT_THAT(pieces("中中中中中", 2, 1), ElementsAre("中中", "中中", "中中", "中中"));
  EXPECT_THAT(pieces("ababab", 4, 2), ElementsAre("abab", "abab"));
}

TEST(Passages, HoldTheTextAndNoMoreTokensThanAskedFor) {
  const Tokenizer tokenizer = make_passage_tokenizer();
  RandomStream stream(7, "passages");
  const std::vector<std::string> parts = {"a", "b", " ", "  ", ".", "中", "é", "\n", "x", "\xFF"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += parts[stream.below(parts.size())];
    const auto tokens = static_cast<int64_t>(2 + stream.below(9));
    const PassageOptions options = {
        tokens, static_cast<int64_t>(stream.below(static_cast<uint64_t>(tokens / 2 + 1)))};
    const std::vector<Passage> passages = split_passages(text, tokenizer, options);
    int64_t end = 0;
    for (const Passage& passage : passages) {
      const auto at = [&](int64_t byte) { return text[static_cast<size_t>(byte)]; };
      for (; end < passage.begin; ++end) EXPECT_THAT(" \n\xFF", HasSubstr(std::string(1, at(end))));
      EXPECT_LT(passage.begin, passage.end);
      EXPECT_GT(passage.end, end);
      end = passage.end;
      EXPECT_FALSE(continues_character(at(passage.begin))) << text;
      const std::string piece = text.substr(static_cast<size_t>(passage.begin),
                                            static_cast<size_t>(passage.end - passage.begin));
      EXPECT_LE(static_cast<int64_t>(tokenizer.encode(piece, false).ids.size()), tokens) << piece;
    }
  }
}

TEST(Passages, MoreOverlapThanHalfIsRefused) {
  try {
    pieces("a", 8, 5);
    FAIL() << "split";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("passage_overlap: 5 of passages of 8 tokens"));
  }
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SentenceSplitter, SentencesEndAtFullStopsQuestionAndExclamationMarks) {
  SentenceSplitter splitter;
  EXPECT_THAT(splitter.split("One is here. Is two?  Three!\tAnd the rest"),
              ElementsAre("One is here.", "Is two?", "Three!", "And the rest"));
  EXPECT_THAT(splitter.split("She said \"Stop.\" Then she left."),
              ElementsAre("She said \"Stop.\"", "Then she left."));
}

TEST(SentenceSplitter, NumbersAndAbbreviationsDoNotEndSentences) {
  SentenceSplitter splitter;
  EXPECT_THAT(splitter.split("Mr. Hill paid 3.50 in the U.S. Army shop. He left."),
              ElementsAre("Mr. Hill paid 3.50 in the U.S. Army shop.", "He left."));
  EXPECT_THAT(SentenceSplitter("xx").split("Mr. Hill left."), ElementsAre("Mr.", "Hill left."));
}

TEST(SentenceSplitter, InitialsDoNotEndSentences) {
  SentenceSplitter splitter;
  EXPECT_THAT(splitter.split("It is by J. R. Hill. He left Washington D.C."),
              ElementsAre("It is by J. R. Hill.", "He left Washington D.C."));
  EXPECT_THAT(splitter.split("It was made by NASA. It is new."),
              ElementsAre("It was made by NASA.", "It is new."));
}

TEST(SentenceSplitter, OtherScriptsAreCutAtTheirOwnMarks) {
  SentenceSplitter splitter;
  EXPECT_THAT(splitter.split("Größe zählt. Élan vital."),
              ElementsAre("Größe zählt.", "Élan vital."));
  EXPECT_THAT(splitter.split("今日は。明日は。"), ElementsAre("今日は。", "明日は。"));
}

TEST(SentenceSplitter, NothingHasNoSentences) {
  SentenceSplitter splitter;
  EXPECT_THAT(splitter.split(""), IsEmpty());
  EXPECT_THAT(splitter.split(" \t "), IsEmpty());
  EXPECT_THAT(splitter.split("x"), ElementsAre("x"));
}

}  // namespace
}  // namespace simile
