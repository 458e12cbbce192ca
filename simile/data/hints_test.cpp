// SPDX-License-Identifier: Apache-2.0
// Files as newcomers write them, and the messages about them.
#include <gmock/gmock.h>

#include "simile/data/detail/packed_files_test.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/pair_data.h"
#include "simile/data/ranking_data.h"
#include "simile/data/text_match.h"

namespace simile {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PairDataOptions options_for(const std::string& path) {
  PairDataOptions options;
  options.path = path;
  return options;
}

TEST(Hints, FilesOfOtherFormsAreToldWithWhatToDo) {
  const TestFiles files;
  using std::string_literals::operator""s;
  struct Case {
    const char* name;
    std::string text, message;
  };
  const std::vector<Case> cases = {
      {"bare.csv", "s\0e\0n\0"s,
       "is UTF-16 without a byte order mark; name its encoding: utf-16le"},
      {"big.csv", "\0s\0e\0n"s, "name its encoding: utf-16be"},
      {"tracks.tsv", "OggS\n"s + std::string(80, '\0'), "its first bytes are not text"},
      {"weights.csv", "\x3c\0\0\0\0\0\0\0{\"a\": 0}"s, "the weights of a model (safetensors)"},
      {"gone.csv", "\n<!DOCTYPE html>\n", "a web page (HTML)"},
      {"word.csv", "{\\rtf1 hello}\n", "RTF"},
      {"mac.tsv", "sentence1\tsentence2\ra\tb\r", "lines end in CR alone"},
      {"semi.csv", "sentence1;sentence2;score\na;b;c;1\n",
       "separated by ;, expected commas: name it with delimiter: ';'"},
      {"tabs.csv", "sentence1\tsentence2\n", "separated by tab, expected commas: name it with"},
      {"comma.tsv", "sentence1,sentence2\na,b\nc\n", "separated by ,, expected tabs: name it with"},
      {"decimal.tsv", "sentence1\tsentence2\tscore\na\tb\t0,5\n", "with a decimal point, 0.5"},
      {"null.jsonl", "{\"sentence1\": null, \"sentence2\": \"b\"}\n",
       "'sentence1' is null, expected"},
      {"twice.jsonl", "{\"sentence1\": \"a\", \"sentence1\": \"b\"}\n", "'sentence1' stands twice"},
      {"quote.tsv", "sentence1\tsentence2\na\t\"b\nc\"\n", "a quote that its line does not close"},
      {"late.jsonl",
       "{\"anchor\": \"a\", \"positive\": \"b\"}\n{\"anchor\": \"a\", \"positive\": \"b\", "
       "\"score\": 1}\n",
       "a score stands here, but in none of the 1 rows before"}};
  for (const Case& c : cases) {
    const PairDataOptions options = options_for(files.write(c.name, c.text));
    EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr(c.message)) << c.name;
  }
}

TEST(Hints, CrWithinTextIsAsItWas) {
  const TestFiles files;
  const PairDataset data =
      read_pairs(options_for(files.write("a.tsv", "anchor\tpositive\r\na\rb\tc\r\n")));
  EXPECT_THAT(data.left, ElementsAre("a\rb"));
}

TEST(Hints, ATsvThatQuotesIsNoticed) {
  const TestFiles files;
  const PairDataset quoted = read_pairs(options_for(files.write(
      "q.tsv", "anchor\tpositive\n\"say \"\"hi\"\" now\"\tx\n\"plain\"\t\"a\" b \"c\"\n")));
  EXPECT_THAT(quoted.report.warning(), HasSubstr("q.tsv: 1 fields stand in quotes with doubled"));
  EXPECT_THAT(quoted.left, ElementsAre("\"say \"\"hi\"\" now\"", "\"plain\""));
  EXPECT_TRUE(looks_quoted("\"\"\"a\"\"\""));
  for (const char* field : {"", "\"\"", "\"\"\"\"x", "\"a\"", "\"a\"b\"", "a\"\"b", "\"a\"\""}) {
    EXPECT_FALSE(looks_quoted(field)) << field;
  }
}

TEST(Hints, PairsNeedNoScoreAndMayHaveTheUsualNames) {
  const TestFiles files;
  const PairDataset plain =
      read_pairs(options_for(files.write("a.tsv", "anchor\tpositive\tnegative\na\tb\tc\n")));
  EXPECT_THAT(plain.left, ElementsAre("a"));
  EXPECT_THAT(plain.right, ElementsAre("b"));
  EXPECT_THAT(plain.score, ElementsAre(1));
  EXPECT_FALSE(plain.has_scores);
  EXPECT_THAT(plain.notes, Contains(HasSubstr("no column 'score': all 1 pairs")));
  EXPECT_THAT(plain.notes, Contains(HasSubstr("negatives: [negative] takes them")));
  EXPECT_THAT(plain.notes, Contains(HasSubstr("by their usual names")));

  const PairDataset labelled =
      read_pairs(options_for(files.write("b.csv", "question,answer,label\na,b,0\nc,d,1\n")));
  EXPECT_THAT(labelled.score, ElementsAre(0, 1));
  EXPECT_TRUE(labelled.has_scores);

  const PairDataset rated =
      read_pairs(options_for(files.write("c.tsv", "sentence1\tsentence2\trating\na\tb\t3\n")));
  EXPECT_THAT(rated.notes, ElementsAre(HasSubstr("set score: one of rating")));

  const PairDataset numbered = read_pairs(
      options_for(files.write("n.csv", "id,Question ID,question,answer\n1,7,a,b\n2,8,c,d\n")));
  EXPECT_THAT(numbered.notes, Each(Not(HasSubstr("set score: one of"))));
  EXPECT_THAT(numbered.notes, Contains(HasSubstr("took the columns question, answer by")));

  const PairDataset lines = read_pairs(options_for(
      files.write("t.jsonl", "{\"anchor\": \"a\", \"positive\": \"b\", \"negative\": \"c\"}\n")));
  EXPECT_THAT(lines.notes, Contains(HasSubstr("took the columns anchor, positive by")));
  EXPECT_THAT(lines.notes, Contains(HasSubstr("negatives: [negative] takes them")));

  PairDataOptions named = options_for(files.write("d.tsv", "sentence1\tsentence2\na\tb\n"));
  named.score = "gold";
  EXPECT_THAT(error_of([&] { read_pairs(named); }), HasSubstr("no column 'gold'"));
}

TEST(PairRanking, QueriesAreThoseOfThePartAndDocumentsThoseOfAll) {
  const TestFiles files;
  std::string text = "anchor\tpositive\ttopic\tscore\n";
  for (int i = 0; i < 20; ++i) {
    text += "q" + std::to_string(i) + "\td" + std::to_string(i / 2) + "\tt" +
            std::to_string(i / 2) + "\t1\n";
  }
  text += "q0\td9\tt0\t0\n";
  PairDataOptions options = options_for(files.write("p.tsv", text));
  options.group = "topic";
  options.folds.folds = 5;
  options.folds.part = "test";
  const RankingData test = ranking_from_pairs(options);
  EXPECT_EQ(test.document_texts.size(), 10U);
  EXPECT_THAT(test.document_ids.front(), "d1");
  EXPECT_GE(test.query_texts.size(), 4U);
  EXPECT_LE(test.query_texts.size(), 6U);
  PairDataOptions rest = options;
  rest.folds.part = "train";
  for (const std::string& trained : read_pairs(rest).left) {
    EXPECT_THAT(test.query_texts, Not(Contains(trained)));
  }
  options.folds = {};
  const RankingData all = ranking_from_pairs(options);
  ASSERT_EQ(all.judged[0].size(), 2U);  // q0: its own document, and another that is judged 0
  EXPECT_EQ(all.judged[0][0].relevance, 1);
  EXPECT_EQ(all.judged[0][1].relevance, 0);
}

TEST(TextKeys, AreThoseOfTheTellingTextsOfFiles) {
  const TestFiles files;
  const KeySet keys =
      read_text_keys({files.write("k.tsv", "a\tb\nOne two, three four!\tshort one\n")});
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_TRUE(contains(keys, text_form("one two three four").key));
}

}  // namespace
}  // namespace simile
