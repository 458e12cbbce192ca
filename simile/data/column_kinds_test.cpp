// SPDX-License-Identifier: Apache-2.0
#include "simile/data/column_kinds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string table() {
  std::string text = "id\tsentence1\tsentence2\tscore\tlabel\tnone\n";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("q{}\tsentence {} is a text\tsentence {} too\t{}\t{}\t\n", i, i, i + 1,
                        i % 5 * 0.5, i % 3 == 0 ? "entailment" : "neutral");
  }
  return text;
}

TEST(ColumnKinds, AreToldFromTheFields) {
  const TestFiles files;
  EXPECT_EQ(describe(summarise_columns(files.write("t.tsv", table()))),
            "id (ids), sentence1 (texts), sentence2 (texts), score (numbers from 0 to 2), label "
            "(labels), none (empty)");
  EXPECT_EQ(describe(summarise_columns(
                files.write("t.csv", "a,b\n\"one, two\nthree four five\",1\n\"six\",-2e1\n"))),
            "a (texts), b (numbers from -20 to 1)");
  EXPECT_EQ(describe(summarise_columns(
                files.write("t.jsonl", "{\"a\": \"one text\", \"b\": [1]}\n{\"c\": 3}\n"))),
            "a (texts), c (numbers from 3 to 3)");
}

TEST(ColumnKinds, WordsThatAreAllDifferentAreTexts) {
  const TestFiles files;
  std::string text = "t\n";
  for (char c = 'a'; c <= 'z'; ++c) text += std::string(3, c) + "\n";
  EXPECT_EQ(describe(summarise_columns(files.write("t.tsv", text))), "t (texts)");
}

TEST(ColumnKinds, AFileThatIsNoTableTellsNothing) {
  const TestFiles files;
  EXPECT_THAT(summarise_columns(files.write("t.txt", "text")), IsEmpty());
  EXPECT_THAT(summarise_columns(files.path("nowhere.tsv")), IsEmpty());
}

TEST(ColumnKinds, ASideOfNumbersBesideAColumnOfTextsIsMisplaced) {
  const TestFiles files;
  const std::string path = files.write("t.tsv", table());
  EXPECT_THAT(find_misplaced_side(path, {{"left", "score"}, {"right", "sentence2"}}),
              AllOf(HasSubstr("t.tsv: `left` is mapped to the column 'score', which holds numbers "
                              "(such as '0'), while the column 'sentence1' holds texts"),
                    HasSubstr("set left: sentence1")));
  EXPECT_THAT(find_misplaced_side(path, {{"left", "sentence1"}, {"right", "label"}}),
              HasSubstr("`right` is mapped to the column 'label', which holds labels"));
  EXPECT_THAT(find_misplaced_side(path, {{"left", "id"}, {"right", "sentence2"}}),
              HasSubstr("holds ids"));
}

TEST(ColumnKinds, ASideIsNotMisplacedWithoutAColumnToTakeInstead) {
  const TestFiles files;
  const std::string path = files.write("t.tsv", table());
  EXPECT_EQ(find_misplaced_side(path, {{"left", "sentence1"}, {"right", "sentence2"}}), "");
  EXPECT_EQ(find_misplaced_side(
                path, {{"left", "sentence1"}, {"right", "label"}, {"negatives", "sentence2"}}),
            "");
  EXPECT_EQ(find_misplaced_side(path, {{"left", "sentence1"}, {"right", "sentence1"}}), "");
}

TEST(ColumnKinds, AScoreThatIsNoNumberIsToldWhichColumnToMap) {
  const TestFiles files;
  PairDataOptions options;
  options.path = files.write("t.tsv", table());
  options.score = "sentence2";
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              AllOf(HasSubstr("t.tsv:2: column 'sentence2': expected a number, found 'sentence 1 "
                              "too'; the columns look like id (ids), sentence1"),
                    HasSubstr("; set score: score (score: \"\" if it is no score)")));
  options.path = files.write("two.tsv", "sentence1\tsentence2\nsome text\tanother text\n");
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("no column holds numbers alone: set score: \"\""));
}

TEST(ScoreRange, IsThatOfAnAnnotationScale) {
  struct Case {
    double minimum, maximum, offset, scale;
  };
  for (const Case& c :
       {Case{0, 5, 0, 5}, Case{0, 4.8, 0, 5}, Case{0.2, 3.6, 0, 4}, Case{0, 1, 0, 1},
        Case{1, 5, 1, 4}, Case{1.2, 4.9, 1, 4}, Case{0, 3, 0, 3}, Case{0, 87, 0, 100},
        Case{0, 6.5, 0, 10}, Case{-1, 1, -1, 2}, Case{0, 2.0000000001, 0, 2}, Case{-4.5, 0, -5, 5},
        Case{1, 1, 0, 1}, Case{0, 100, 0, 100}}) {
    const ScoreMapping mapping = guess_score_mapping(c.minimum, c.maximum);
    EXPECT_EQ(mapping.offset, c.offset) << c.minimum << " " << c.maximum;
    EXPECT_EQ(mapping.scale, c.scale) << c.minimum << " " << c.maximum;
  }
}

TEST(ScoreRange, TellsWhatToSet) {
  EXPECT_EQ(describe_score_mapping({0, 5}), "set data.score_scale: 5");
  EXPECT_EQ(describe_score_mapping({1, 4}), "set data.score_offset: 1 and data.score_scale: 4");
}

}  // namespace
}  // namespace simile
