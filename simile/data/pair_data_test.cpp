// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_data.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PairDataOptions options_for(const std::string& path) {
  PairDataOptions options;
  options.path = path;
  return options;
}

TEST(PairData, ScoresAreScaled) {
  const TestFiles files;
  PairDataOptions options =
      options_for(files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t5\nc\td\t2.5\n"));
  options.score_scale = 5;
  const PairDataset data = read_pairs(options);
  EXPECT_EQ(data.size(), 2);
  EXPECT_THAT(data.left, ElementsAre("a", "c"));
  EXPECT_THAT(data.right, ElementsAre("b", "d"));
  EXPECT_THAT(data.score, ElementsAre(1, 0.5));
  EXPECT_TRUE(data.group.empty());
}

TEST(PairData, TheColumnAdvisedIsThatOfTheFileWithTheWrongRow) {
  const TestFiles files;
  PairDataOptions options =
      options_for(files.write("a.tsv", "sentence1\tsentence2\tscore\na\tb\t5\n"));
  options.paths = {files.write("b.tsv", "sentence1\tsentence2\tscore\tgold\nc\td\tx y\t1.5\n")};
  EXPECT_THAT(pair_files(options), ElementsAre(options.path, options.paths[0]));
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              AllOf(HasSubstr("b.tsv:2: column 'score'"), HasSubstr("set score: gold")));
}

TEST(PairData, WithoutAScoreColumnEveryPairGetsOne) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write("t.csv", "q,a\nx,y\n"));
  options.left = "q";
  options.right = "a";
  EXPECT_THAT(read_pairs(options).score, ElementsAre(1));
  options.score = "";
  EXPECT_THAT(read_pairs(options).score, ElementsAre(1));
  options.score = "gold";  // was named
  EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr("no column 'gold'"));
}

TEST(PairData, ScoresGivenAsNames) {
  const TestFiles files;
  PairDataOptions options =
      options_for(files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\tGood\nc\td\tBad\n"));
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("t.tsv:2: column 'score': expected a number, found 'Good'"));
  options.score_names = {"Good=1", "Bad=-0.5"};
  EXPECT_THAT(read_pairs(options).score, ElementsAre(1, -0.5));
  options.score_names = {"Good=1"};
  EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr("t.tsv:3"));
  for (const char* bad : {"Good", "=1", "Good=", "Good=x", "Good=nan"}) {
    options.score_names = {bad};
    EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr("NAME=NUMBER")) << bad;
  }
}

TEST(PairData, GroupsAndNegatives) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write(
      "t.jsonl",
      "{\"sentence1\":\"a\",\"sentence2\":\"b\",\"q\":\"7\",\"n1\":\"x\",\"n2\":\"y\"}\n"));
  options.score = "";
  options.group = "q";
  options.negatives = {"n1", "n2"};
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.group, ElementsAre("7"));
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("x"), ElementsAre("y")));
}

TEST(PairData, ScoresAreMovedBeforeTheyAreScaled) {
  const TestFiles files;
  PairDataOptions options =  // SICK's 1..5
      options_for(files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\nc\td\t5\ne\tf\t2\n"));
  options.score_offset = 1;
  options.score_scale = 4;
  EXPECT_THAT(read_pairs(options).score, ElementsAre(0, 1, 0.25));
  options.path = files.write("n.tsv", "sentence1\tsentence2\tscore\na\tb\tGood\n");
  options.score_names = {"Good=3"};
  EXPECT_THAT(read_pairs(options).score, ElementsAre(0.5));
}

TEST(PairData, SeveralFilesAreOneSet) {
  const TestFiles files;
  const std::string header = "sentence1\tsentence2\tscore\n";
  const std::string first = files.write("part-1.tsv", header + "a\tb\t1\n");
  files.write_zstd("part-2.tsv.zst", header + "c\td\t2\n");
  const std::string last =
      files.write("z.jsonl", "{\"sentence1\":\"e\",\"sentence2\":\"f\",\"score\":3}\n");
  PairDataOptions options = options_for(files.path("part-*"));
  EXPECT_THAT(read_pairs(options).left, ElementsAre("a", "c"));
  options.paths = {last};
  EXPECT_THAT(read_pairs(options).left, ElementsAre("a", "c", "e"));
  EXPECT_EQ(read_pairs(options).report.file, first + " and 2 more files");
  EXPECT_EQ(options.file(), files.path("part-*") + " and 1 more file");
  options.path = "";
  options.paths = {last, first};
  EXPECT_THAT(read_pairs(options).left, ElementsAre("e", "a"));
  files.write("part-2.tsv", header + "c\td\tmany\n");
  options.paths = {files.path("part-*.tsv")};
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("part-2.tsv:2: column 'score': expected a number, found 'many'"));
  PairDataOptions recipe;
  read_options(parse_config("{path: a-*.tsv, paths: [b.tsv, c.tsv]}", "r.yaml"), recipe);
  EXPECT_THAT(recipe.path, ::testing::EndsWith("/a-*.tsv"));
  EXPECT_EQ(recipe.paths.size(), 2);
}

TEST(PairData, FilteredRowsAreCounted) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write("t.tsv",
                                                    "sentence1\tsentence2\tscore\tsplit\n"
                                                    "a\tb\t1\ttrain\n"
                                                    "c\td\tnone\ttest\n"
                                                    "e\tf\t3\ttrain\n"));
  options.filter = {"split != test"};
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("a", "e"));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("t.tsv: the filter left out 1 of 3 rows")));
  options.skip = 1;
  EXPECT_THAT(read_pairs(options).left, ElementsAre("e"));
  options.filter = {"splt != test"};
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("columns found: sentence1, sentence2, score, split"));
}

TEST(PairData, MalformedRowsStopReadingOrAreLeftOut) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write("t.tsv",
                                                    "sentence1\tsentence2\tscore\tn\n"
                                                    "a\tb\t1\tx\n"
                                                    "c\td\tnan\tx\n"
                                                    " \td\t1\tx\n"
                                                    "c\t\t1\tx\n"
                                                    "e\tf\t3\t\n"
                                                    "g\th\t4\n"
                                                    "i\tj\t5\tx\n"));
  EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr("t.tsv:3: column 'score'"));
  options.score = "";
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("t.tsv:4: column 'sentence1': expected a text, found nothing"));
  options.score = "score";
  options.negatives = {"n"};
  options.table.on_error = "skip";
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("a", "i"));
  EXPECT_THAT(data.negatives[0], ElementsAre("x", "x"));
  EXPECT_EQ(data.report.malformed, 5);
  EXPECT_THAT(data.report.problems,
              ElementsAre(HasSubstr(":3: column 'score'"), HasSubstr(":4: column 'sentence1'"),
                          HasSubstr(":5: column 'sentence2'"), HasSubstr(":6: column 'n'"),
                          HasSubstr(":7: expected 4 fields")));
  options.table.on_error = "lax";
  EXPECT_THAT(error_of([&] { read_pairs(options); }),
              HasSubstr("on_error: expected strict or skip"));
}

TEST(PairData, OptionsAreReadByName) {
  PairDataOptions options;
  read_options(
      parse_config("{path: a.tsv, left: q, score_scale: 5, negatives: [n], limit: 3}", "r.yaml"),
      options);
  EXPECT_EQ(std::filesystem::absolute(options.path), std::filesystem::absolute("a.tsv"));
  EXPECT_EQ(options.left, "q");
  EXPECT_EQ(options.right, "sentence2");
  EXPECT_EQ(options.score_scale, 5);
  EXPECT_THAT(options.negatives, ElementsAre("n"));
  EXPECT_EQ(options.limit, 3);
  EXPECT_THROW(read_options(parse_config("{score_scale: 0}", "r.yaml"), options), Error);
  EXPECT_THROW(read_pairs(PairDataOptions()), Error);
}

}  // namespace
}  // namespace simile
