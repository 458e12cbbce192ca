// SPDX-License-Identifier: Apache-2.0
// `simile compare` as a user runs it.
#include <nlohmann/json.hpp>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CompareTest : public ShellTest {};

TEST_F(CompareTest, TwoRunsAreATableAndAWarningOfOneSeed) {
  run("a", 1, 1 - 12.0 / 990, swapped_pairs(3));
  run("b", 1, 1, scored_pairs([](int i) { return i; }));
  const Outcome table = shell("simile compare a b --samples 500");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(StartsWith("A: a (1 run, seed 1)\nB: b (1 run, seed 1)\n"),
                               HasSubstr("test (sts, 10 examples)"), HasSubstr("98.79  100.00"),
                               HasSubstr("+1.21"), HasSubstr("500 samples, seed 1")));
  EXPECT_THAT(table.err, HasSubstr("one seed"));
  const Outcome json = shell("simile compare a b --samples 500 --json");
  const auto document = nlohmann::json::parse(json.out);
  const auto& metric = document["reports"][0]["metrics"][0];
  EXPECT_EQ(metric["metric"], "spearman");
  EXPECT_NEAR(metric["difference"].get<double>(), 12.0 / 990, 1e-12);
  EXPECT_GE(metric["interval"]["high"].get<double>(), 12.0 / 990);
  EXPECT_EQ(document["warnings"].size(), 2u);
  // The same bits whatever the threads.
  EXPECT_EQ(shell("simile compare a b --samples 500 --json --threads 1").out, json.out);
}

TEST_F(CompareTest, SeedsAreTestedAndMustBeTheSame) {
  for (int seed = 1; seed <= 3; ++seed) {
    run(fmt::format("a/run-{}", seed), seed, 0.5 + 0.01 * seed, "");
    run(fmt::format("b/run-{}", seed), seed, 0.6 + 0.02 * (seed % 2), "");
    run(fmt::format("c/run-{}", seed), seed + 1, 0.6, "");
  }
  const Outcome table = shell("simile compare a b");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("(3 runs, seeds 1 2 3)"), HasSubstr("+- 1.00"),
                               HasSubstr("+9.33 *"), HasSubstr("0.2500")));
  expect_error("simile compare a c", 3, "paired by their seeds");
}

TEST_F(CompareTest, PredictionsOfEvaluateAreCompared) {
  write("pairs.tsv",
        "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\nfox\tthe fox\t4\n");
  EXPECT_EQ(shell("for m in bm25 tfidf; do simile evaluate --model $m --task sts --data pairs.tsv "
                  "--predictions $m.tsv; done")
                .code,
            0);
  const Outcome table = shell("simile compare bm25.tsv tfidf.tsv --metric pearson --samples 50");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("sts (3 examples)"), HasSubstr("  pearson  ")));
  EXPECT_THAT(table.out, ::testing::Not(HasSubstr("spearman")));
  write("other.tsv", "left\tright\tgold\tscore\nhello\thello\t5\t1\nx\ty\t1\t1\nz\tz\t4\t1\n");
  expect_error("simile compare bm25.tsv other.tsv", 3, "example 2 differs");
}

TEST_F(CompareTest, RankingsAreComparedByTheirQueries) {
  write("q.tsv", "id\ttext\nq1\tred fox\nq2\tblue whale\n");
  write("c.tsv", "id\ttext\nd1\ta red fox\nd2\ta blue whale\nd3\tnothing\n");
  write("r.tsv", "q1 0 d1 1\nq2 0 d3 1\n");
  const std::string evaluate =
      "simile evaluate --task ranking --queries q.tsv --corpus c.tsv --qrels r.tsv ";
  EXPECT_EQ(shell(evaluate + "--model bm25 --predictions a.trec && " + evaluate +
                  "--model tfidf --predictions b.trec")
                .code,
            0);
  EXPECT_THAT(read_file(path("a.queries.tsv")), StartsWith("query_id\tquery\tmap\tmrr\t"));
  const Outcome table = shell("simile compare a.trec b.trec --samples 50");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("ranking (2 examples)"), HasSubstr("ndcg@10")));
}

TEST_F(CompareTest, MistakesAreOneMessage) {
  run("a", 1, 0.5, "");
  run("b", 1, 0.5, "");
  write_in("other", "notes.txt", "");
  expect_error("simile compare a", 2, "b is required");
  expect_error("simile compare a b --metric test.sperman", 2, "did you mean 'test.spearman'");
  expect_error("simile compare a other", 3, "is not a run");
  expect_error("simile compare a nowhere", 3, "nowhere");
  expect_error("simile compare a b --samples 0", 2, "samples");
}

}  // namespace
}  // namespace simile
