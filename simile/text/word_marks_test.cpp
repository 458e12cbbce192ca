// SPDX-License-Identifier: Apache-2.0
#include "simile/text/word_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> marked(const std::string& query, const std::string& text) {
  std::vector<std::string> words;
  for (const WordMark& mark : WordMarker(query).find(text)) {
    words.push_back(text.substr(mark.begin, mark.end - mark.begin));
  }
  return words;
}

TEST(WordMarks, WordsAreFoundWithoutCaseAccentsAndEndings) {
  EXPECT_THAT(marked("Cafe train", "The CAFÉ of two trains; raining, training, untrained"),
              ElementsAre("CAFÉ", "trains", "training"));
  EXPECT_THAT(marked("trains", "a train, a Train-station"), ElementsAre("train", "Train"));
  EXPECT_THAT(marked("cat", "cats"), IsEmpty());  // too short for other endings
  EXPECT_THAT(marked("ﬁne", "fine"), ElementsAre("fine"));
}

TEST(WordMarks, CommonWordsAreLeftOutWhereThereAreOthers) {
  EXPECT_THAT(marked("how do I pay", "How I pay"), ElementsAre("pay"));
  EXPECT_THAT(marked("to be", "to have been or to be"), ElementsAre("to", "to", "be"));
}

TEST(WordMarks, IdeographsAreWordsAndBrokenBytesNone) {
  EXPECT_THAT(marked("火", "火車"), ElementsAre("火"));
  EXPECT_THAT(marked("a\xFF", "\xFF a"), ElementsAre("a"));
  EXPECT_THAT(marked("", "a"), IsEmpty());
  EXPECT_THAT(marked("?", "a ?"), IsEmpty());
}

TEST(WordMarks, PlacesAreToldInCharactersToo) {
  const std::vector<WordMark> marks = WordMarker("cafe sea").find_characters("é café sea");
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].begin, 2u);
  EXPECT_EQ(marks[0].end, 6u);
  EXPECT_EQ(marks[1].begin, 7u);
}

}  // namespace
}  // namespace simile
