// SPDX-License-Identifier: Apache-2.0
// `simile mine` as a user runs it, and that training reads what it wrote.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/data/pair_data.h"
#include "tests/shell.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class MineTest : public ShellTest {
 protected:
  MineTest() {
    write("pairs.tsv",
          "sentence1\tsentence2\tscore\n"
          "red apple\ta red apple\t5\n"
          "blue sky\tthe sky is blue\t5\n"
          "red apple\tgreen apple tree\t1\n"
          "the quick fox\ta fox runs, quick\t4\n");
    write("corpus.txt", "a fox of red\nApple, red: a\nthe blue sea\nquick\n");
    write("queries.tsv", "id\ttext\nq1\tred apple\nq2\tblue sky\n");
    write("docs.tsv", "id\ttext\nd1\ta red apple\nd2\tthe sky is blue\nd3\tred blue\n");
    write("qrels.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t1\nq2\td2\t1\n");
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }

  Outcome mine(const std::string& arguments) const { return shell("simile mine " + arguments); }
};

constexpr const char* kPairs = "--data pairs.tsv --score-scale 5 ";

TEST_F(MineTest, MinesTripletsByWordOverlap) {
  const Outcome outcome = mine(std::string("--model bm25 --count 1 --output t.tsv ") + kPairs);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The pair of score 1 has the nearest text, which is no positive.
  EXPECT_EQ(bytes("t.tsv"),
            "anchor\tpositive\tnegative\n"
            "red apple\ta red apple\tgreen apple tree\n"
            "the quick fox\ta fox runs, quick\tthe sky is blue\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("3 anchors, 4 candidates: 2 negatives"),
                                 HasSubstr("own 3"), HasSubstr("1 anchors have no negative")));
}

TEST_F(MineTest, ReadsTheRowsThatMeetAllFilters) {
  write("sources.tsv",
        "query\tdocument\tsource\n"
        "red apple\ta red apple\tweb\n"
        "blue sky\tthe sky is blue\tbook\n"
        "green tree\ta tree, green\tforum\n"
        "blue tree\ta blue tree\tbook\n"
        "blue sea\tthe sea\tbook\n");
  const Outcome outcome = mine(
      "--model bm25 --count 1 --output t.tsv --data sources.tsv --left query --right document "
      "--score '' --filter 'source not in (web, forum)' --filter 'query != \"blue sea\"'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(bytes("t.tsv"),
            "anchor\tpositive\tnegative\n"
            "blue sky\tthe sky is blue\ta blue tree\n"
            "blue tree\ta blue tree\tthe sky is blue\n");
}

TEST_F(MineTest, MinesWithAModelFromACorpus) {
  const std::string line =
      std::string(
          "--model $M --corpus corpus.txt --count 3 --format n-tuple --output t.jsonl "
          "--json ") +
      kPairs;
  const Outcome outcome = mine(line);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(summary["anchors"], 3);
  EXPECT_EQ(summary["candidates"], 4);
  EXPECT_EQ(summary["negatives"], 9);
  EXPECT_EQ(summary["rows"], 3);
  EXPECT_GT(summary["positive_mean"], -1);
  EXPECT_LE(summary["negative_mean"], 1);
  std::istringstream lines(bytes("t.jsonl"));
  int rows = 0;
  for (std::string row; std::getline(lines, row); ++rows) {
    EXPECT_TRUE(Json::parse(row).contains("negative_3")) << row;
  }
  EXPECT_EQ(rows, 3);
  const std::string first = bytes("t.jsonl");
  mine(line + " --threads 1");
  EXPECT_EQ(bytes("t.jsonl"), first) << "one thread gave other negatives";
}

TEST_F(MineTest, APositiveInOtherCaseIsNotMined) {
  write("pairs.tsv", "sentence1\tsentence2\tscore\nred apple\tapple red a\t1\n");
  const Outcome outcome =
      mine("--model bm25 --data pairs.tsv --corpus corpus.txt --count 1 --output t.tsv");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(bytes("t.tsv"), "anchor\tpositive\tnegative\nred apple\tapple red a\ta fox of red\n");
}

TEST_F(MineTest, TrainingReadsWhatWasMined) {
  mine(std::string("--model bm25 --count 1 --format n-tuple --output t.tsv ") + kPairs);
  PairDataOptions options;
  options.path = path("t.tsv");
  options.left = "anchor";
  options.right = "positive";
  options.score = "";
  options.negatives = {"negative_1"};
  const PairDataset tuples = read_pairs(options);
  EXPECT_EQ(tuples.size(), 2);
  EXPECT_EQ(tuples.negatives[0][0], "green apple tree");
  mine(std::string("--model bm25 --count 1 --oversample 2 --format labelled-pair "
                   "--output l.jsonl ") +
       kPairs);
  options = PairDataOptions();
  options.path = path("l.jsonl");
  options.left = "anchor";
  options.right = "text";
  const PairDataset pairs = read_pairs(options);
  EXPECT_THAT(pairs.score, ::testing::ElementsAre(1, 0, 1, 1, 0));
}

TEST_F(MineTest, MinesForARankingSet) {
  const Outcome outcome = mine(
      "--model $M --queries queries.tsv --corpus docs.tsv --qrels qrels.tsv --method ranks "
      "--rank-base 0 --format labelled-pair --output l.tsv");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // Both other documents of each query: the ranks 1 and 2.
  EXPECT_THAT(outcome.err, HasSubstr("2 anchors, 3 candidates: 4 negatives"));
  const std::string table = bytes("l.tsv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 7);
  EXPECT_THAT(table, HasSubstr("red apple\tred blue\t0\n"));
}

TEST_F(MineTest, MinesForAFolderAndTellsWhatWasLeftOut) {
  write("corpus.jsonl",
        "{\"_id\":\"d1\",\"text\":\"a red apple\"}\n"
        "{\"_id\":\"d2\",\"text\":\"the sky is red\"}\n");
  write("queries.jsonl", "{\"_id\":\"q1\",\"text\":\"red apple\"}\n");
  fs::create_directories(path("qrels"));
  write("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t1\n");
  const Outcome outcome =
      mine("--model bm25 --folder . --allow-unknown --output f.tsv --range-max 5");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 judgements of unknown queries or documents"));
  EXPECT_THAT(bytes("f.tsv"), HasSubstr("red apple\ta red apple\tthe sky is red\n"));
}

TEST_F(MineTest, FoldsAndMalformedRowsOfATableAreObeyedAndTold) {
  write("broken.tsv", bytes("pairs.tsv") + "one field\n");
  const Outcome outcome = mine(
      "--data broken.tsv --score-scale 5 --model bm25 --on-error skip --folds 2 --part train "
      "--range-max 5 --output f.tsv");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("broken.tsv:6"), HasSubstr("train part of fold 0 of 2")));
}

TEST_F(MineTest, MistakesAreToldAndLeaveNoFile) {
  const std::string base = "--model bm25 --output t.tsv ";
  for (const auto& [line, code, message] : std::vector<std::tuple<std::string, int, std::string>>{
           {base, 2, "give --data"},
           {base + "--data pairs.tsv --queries queries.tsv", 2, "give --data"},
           {base + "--data pairs.tsv --folder .", 2, "give --data"},
           {base + "--data pairs.tsv --skip-queries 1", 2,
            "the format table does not take: ranking.skip_queries"},
           {base + "--data pairs.tsv --left nothing", 3, "nothing"},
           {base + "--data pairs.tsv --positive-above 9", 3, "no positive pair"},
           {base + "--data pairs.tsv --oversample 2", 2, "labelled-pair"},
           {base + "--data pairs.tsv --range-min 4 --range-max 4", 2, "above range_min"},
           {base + "--data pairs.tsv --method best", 2, "best"},
           {base + "--data pairs.tsv --right ''", 2, "--right"},
           {base + "--data pairs.tsv --method ranks --format n-tuple", 2, "count"},
           {"--model bm25 --output t.txt --data pairs.tsv", 2, ".jsonl"},
           {"--model bm25 --data pairs.tsv", 2, "--output"}}) {
    const Outcome outcome = mine(line);
    EXPECT_EQ(outcome.code, code) << line << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << line;
    EXPECT_FALSE(file_exists(path("t.tsv"))) << line;
  }
}

}  // namespace
}  // namespace simile
