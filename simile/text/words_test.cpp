// SPDX-License-Identifier: Apache-2.0
#include "simile/text/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SplitWords, LiteralCases) {
  EXPECT_THAT(split_words(""), IsEmpty());
  EXPECT_THAT(split_words(" ,.- \n"), IsEmpty());
  EXPECT_THAT(split_words("Hello, World! It's 3.14"),
              ElementsAre("hello", "world", "it", "s", "3", "14"));
  EXPECT_THAT(split_words("CAF\xC3\x89 \xCE\xA3\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"),
              ElementsAre("caf\xC3\xA9", "\xCF\x83\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"));
  EXPECT_THAT(split_words("a\xFF"
                          "b\xC3"),
              ElementsAre("a", "b"));
  EXPECT_THAT(split_words("C++ don't getUserName x_y 3.14"),
              ElementsAre("c", "don", "t", "getusername", "x", "y", "3", "14"));
}

// All spellings of a row are one word, or the same words.
TEST(SplitWords, SpellingsOfAWordAreOneWord) {
  const std::vector<const char*> spellings[] = {
      {"caf\u00e9", "cafe\u0301", "CAF\u00c9", "CAFE\u0301"},
      {"οδυσσευς", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"},
      {"office", "oﬃce", "ＯＦＦＩＣＥ", "of\u00adfice", "of\u2060fice", "of\u200dfice"},
      {"donaudampfschiff", "Donau\u00addampf\u00adschiff"},
      {"straße", "STRASSE", "STRAẞE"},
      {"istanbul", "İstanbul", "ISTANBUL"},
      {"محمد", "مُحَمَّد", "محـمد"},
      {"שלום", "שָׁלוֹם"},
      {"5kg", "5㎏", "５ＫＧ"},
      {"m2", "m²", "M₂"},
      {"カード", "ｶｰﾄﾞ"},
      {"葛城", "葛\U000E0100城"},
      {"서울", "서울"},
      {"хлеба", "ХЛЕБА"},
      {"ǆ", "Ǆ", "ǅ", "dž"},
  };
  for (const auto& row : spellings) {
    const std::vector<std::string> words = split_words(row[0]);
    EXPECT_FALSE(words.empty()) << row[0];
    for (const char* other : row) EXPECT_EQ(split_words(other), words) << other;
  }
}

TEST(SplitWords, WhatIsNotOfAWordSeparates) {
  EXPECT_THAT(split_words("zero\u200bwidth it’s Xerox™ ❤\ufe0f a\u00a0b"),
              ElementsAre("zero", "width", "it", "s", "xerox", "a", "b"));
  EXPECT_THAT(split_words("9½"), ElementsAre("91", "2"));
  EXPECT_THAT(split_words("\u200d \u00ad"), IsEmpty());
}

TEST(SplitWords, ScriptsWithoutSpacesAreCutByDictionaries) {
  EXPECT_THAT(split_words("我喜欢机器学习"), ElementsAre("我", "喜欢", "机器", "学习"));
  EXPECT_THAT(split_words("京都は古い町です。"), ElementsAre("京都", "は", "古い", "町", "です"));
  EXPECT_THAT(split_words("ฉันรักภาษาไทย"), ElementsAre("ฉัน", "รัก", "ภาษา", "ไทย"));
  EXPECT_THAT(split_words("GNU语言 v2"), ElementsAre("gnu", "语言", "v2"));
  // Words of each of these are more than one and less than their characters.
  for (const char* text : {"ຂ້ອຍຮັກພາສາລາວ", "ខ្ញុំស្រលាញ់ភាសាខ្មែរ", "မြန်မာဘာသာစကား"}) {
    const auto words = split_words(text).size();
    EXPECT_GT(words, 1u) << text;
    EXPECT_LT(words, 9u) << text;
  }
}

TEST(SplitWords, HangulIsCutIntoPairsOfSyllables) {
  EXPECT_THAT(split_words("서울에서 만나요"), ElementsAre("서울", "울에", "에서", "만나", "나요"));
  EXPECT_THAT(split_words("나 서울"), ElementsAre("나", "서울"));
  EXPECT_THAT(split_words("ALSA용 3개월"), ElementsAre("alsa", "용", "3", "개월"));
}

TEST(SplitWords, ALanguageCutsWordsToTheirStems) {
  EXPECT_THAT(split_words("Costs of running CITIES", "english"),
              ElementsAre("cost", "of", "run", "citi"));
  EXPECT_THAT(split_words("Häuser", "german"), ElementsAre("haus"));
  EXPECT_THAT(split_words("costs", "none"), ElementsAre("costs"));
  EXPECT_THAT(split_words("costs", "english"), ElementsAre("cost"));  // after another language
  EXPECT_THAT(word_languages(), AllOf(Contains("none"), Contains("english"), Contains("tamil")));
  try {
    split_words("a", "klingon");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("expected one of none, arabic, "), HasSubstr("found 'klingon'")));
  }
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

std::vector<std::string> marked(const std::string& query, const std::string& text,
                                const std::string& language = "none") {
  std::vector<std::string> words;
  for (const WordMark& mark : WordMarker(query, language).find(text)) {
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

TEST(WordMarks, OriginalCharactersOfAllSpellingsAreMarked) {
  EXPECT_THAT(marked("οδυσσευς office", "ΟΔΥΣΣΕΥΣ, the oﬃce"), ElementsAre("ΟΔΥΣΣΕΥΣ", "oﬃce"));
  EXPECT_THAT(marked("schiff", "Schi\u00adff ｓｃｈｉﬀ"), ElementsAre("Schi\u00adff", "ｓｃｈｉﬀ"));
  EXPECT_THAT(marked("kg", "5 ㎏"), ElementsAre("㎏"));
  EXPECT_THAT(marked("学习 葛城", "机器学习 葛\U000E0100城"),
              ElementsAre("学习", "葛\U000E0100城"));
  EXPECT_THAT(marked("서울", "서울에서"), ElementsAre("서울에서"));
  EXPECT_THAT(marked("ran cities", "a city runs"), IsEmpty());
  EXPECT_THAT(marked("ran cities", "a city runs", "english"), ElementsAre("city"));
}

TEST(WordMarks, IdeographsAreWordsAndBrokenBytesNone) {
  EXPECT_THAT(marked("火", "火 車"), ElementsAre("火"));
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
