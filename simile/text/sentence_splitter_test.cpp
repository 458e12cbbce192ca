// SPDX-License-Identifier: Apache-2.0
#include "simile/text/sentence_splitter.h"

#include <gmock/gmock.h>

namespace simile {
namespace {

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
