// SPDX-License-Identifier: Apache-2.0
#include "simile/text/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitWords, LiteralCases) {
  EXPECT_THAT(split_words(""), IsEmpty());
  EXPECT_THAT(split_words(" ,.- \n"), IsEmpty());
  EXPECT_THAT(split_words("Hello, World! It's 3.14"),
              ElementsAre("hello", "world", "it", "s", "3", "14"));
  EXPECT_THAT(split_words("CAF\xC3\x89 \xCE\xA3\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"),
              ElementsAre("caf\xC3\xA9", "\xCF\x83\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"));
  EXPECT_THAT(split_words("e\xCC\x81t\xC3\xA9"), ElementsAre("e\xCC\x81t\xC3\xA9"));
  EXPECT_THAT(split_words("ab\xE4\xB8\xAD\xE6\x96\x87"
                          "c"),
              ElementsAre("ab", "\xE4\xB8\xAD", "\xE6\x96\x87", "c"));
  EXPECT_THAT(split_words("a\xFF"
                          "b\xC3"),
              ElementsAre("a", "b"));
}

TEST(ComparisonForm, LettersAndDigitsOfOneCaseRemain) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {" ?! ", ""},
      {"Hello, World!", "hello world"},
      {"  it 's   2nd\t(time) ", "it s 2nd time"},
      {"The Cat's 9½ lives: ﬁne!", "the cat s 91 2 lives fine"},
      {"STRASSE Straße", "strasse strasse"},
      {"Ｆｕｌｌ ﬁle", "full file"},
      {"E\xCC\x81lan \xC3\x89LAN", "\xC3\xA9lan \xC3\xA9lan"},
      {"हिन्दी है", "हिन्दी है"},
      {"“quoted” – dashed…", "quoted dashed"},
      {"a\xFF b", "a b"},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(comparison_form(text), form) << text;
}

TEST(ComparisonForm, AFormIsItsOwnForm) {
  for (const char* text : {"Über 3 Äpfel!", "İstanbul", "ΣΊΣΥΦΟΣ", "x² + y₂", "ǅ"}) {
    const std::string form = comparison_form(text);
    EXPECT_EQ(comparison_form(form), form) << text;
  }
}

TEST(ComparisonForm, WordsAreWhatSpacesSeparate) {
  EXPECT_EQ(form_words(""), 0);
  EXPECT_EQ(form_words("one"), 1);
  EXPECT_EQ(form_words("one two three"), 3);
}

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
