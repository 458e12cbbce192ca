// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_data.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

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

TEST(PairData, WithoutAScoreColumnEveryPairGetsOne) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write("t.csv", "q,a\nx,y\n"));
  options.left = "q";
  options.right = "a";
  EXPECT_THAT(error_of([&] { read_pairs(options); }), HasSubstr("no column 'score'"));
  options.score = "";
  EXPECT_THAT(read_pairs(options).score, ElementsAre(1));
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
