// SPDX-License-Identifier: Apache-2.0
// The plan of a table's runs, without training.
#include "simile/experiment/detail/table_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { told.push_back(message); }
  std::vector<std::string> told;
};

class TableRunsTest : public ::testing::Test, protected TestFiles {
 protected:
  void SetUp() override {
    make_folders(path("sets/here"));
    write("sets/here/pairs.tsv", "left\tright\tscore\na\tb\t1\nc\td\t0\n");
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n");
    table_ = read_paper_table(write("own.yaml", R"(title: Own
sets:
  here:
    recipe: &recipe
      architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16}
      tokenizer: vocab.txt
      stages: [{name: only, objectives: [{data: {path: $data/pairs.tsv}, loss: mse}]}]
      evaluations: {name: dev, task: sts, data: $data/pairs.tsv}
      baselines: [bm25]
  away: {recipe: *recipe}
columns: [{label: rho, set: here, metric: dev.spearman}]
rows:
  - {label: First}
  - {label: Second, sets: here, values: {stages.0.objectives.0.loss: pearson}}
  - {label: BM25, baseline: bm25}
)"));
    data_.folder = path("sets");
    options_.runs = 2;
    options_.out = path("runs");
  }

  std::vector<TableRun> plan() {
    return TableRuns(table_, nullptr, model_, data_, options_, warnings_).list();
  }

  void expect_refused(ErrorKind kind, const std::string& message) {
    try {
      plan();
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  PaperTable table_;
  std::string model_;
  TableData data_;
  ReproduceOptions options_;
  Warnings warnings_;
};

TEST_F(TableRunsTest, AllRowsHaveTheirFirstSeedBeforeTheSecond) {
  const std::vector<TableRun> runs = plan();
  std::vector<std::string> folders;
  for (const TableRun& run : runs) {
    if (run.run) folders.push_back(run.run->folder.substr(options_.out.size()));
    EXPECT_TRUE(run.is_ours);
    EXPECT_EQ(run.problem, run.set == "away" ? "not at hand: away" : "");
    EXPECT_FALSE(run.is_wrong);
  }
  EXPECT_THAT(folders, ElementsAre("/here/first/run-1", "/here/second/run-1", "/here/first/run-2",
                                   "/here/second/run-2"));
  // Only the first run on a set computes the baselines.
  for (const TableRun& run : runs) {
    if (!run.run) continue;
    EXPECT_EQ(run.run->with_baselines, run.seed == 1 && run.row == 0);
  }
  ASSERT_EQ(warnings_.told.size(), 1U);
  EXPECT_THAT(warnings_.told[0], HasSubstr("the set 'away' is not at hand"));
  EXPECT_THAT(warnings_.told[0], HasSubstr("the rows First"));
}

TEST_F(TableRunsTest, ARandomStartIsEvaluatedWithEachSeed) {
  const std::string own = read_file(path("own.yaml"));
  write("start.yaml", own + "  - {label: Start, baseline: untrained}\n");
  table_ = read_paper_table(path("start.yaml"));
  for (const TableRun& run : plan()) {
    if (!run.run) continue;
    EXPECT_EQ(run.run->with_baselines, run.row == 0) << run.seed;
  }
}

TEST(DependsOnSeed, AStartWithRandomWeightsAlone) {
  TrainOptions recipe;
  EXPECT_TRUE(depends_on_seed("untrained", recipe));
  EXPECT_TRUE(depends_on_seed("hybrid:untrained", recipe));
  EXPECT_FALSE(depends_on_seed("bm25", recipe));
  EXPECT_FALSE(depends_on_seed("", recipe));
  recipe.model = "simile-mini-3";
  EXPECT_FALSE(depends_on_seed("zero-shot", recipe));
  recipe.heads.resize(1);
  EXPECT_TRUE(depends_on_seed("zero-shot", recipe));
}

TEST_F(TableRunsTest, TwoTablesWithOneFolderAreRefused) {
  const std::string own = read_file(path("own.yaml"));
  for (const char* folder : {"a", "b"}) {
    make_folders(path(folder));
    write(std::string(folder) + "/own.yaml", own);
  }
  options_.data = path("sets");
  for (const std::string& out : {std::string(), path("runs")}) {
    options_.out = out;
    try {
      reproduce({path("a/own.yaml"), path("b/own.yaml")}, options_, warnings_);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("a/own.yaml' and '" + path("b/own.yaml") +
                                          "' would both have their runs in '"));
    }
  }
  EXPECT_FALSE(folder_exists(path("runs")));
}

TEST_F(TableRunsTest, SharesRowsAndSetsChoose) {
  options_.rows = "2/2";
  for (const TableRun& run : plan()) EXPECT_EQ(run.is_ours, run.row == 1);
  options_.rows = "";
  options_.row = {"First", "Second"};
  options_.set = {"here"};
  for (const TableRun& run : plan()) EXPECT_EQ(run.is_ours, run.set == "here");
  options_.row = {"Third"};
  expect_refused(ErrorKind::kUsage, "--row: the table 'own' trains no 'Third'");
  options_.row = {"Second"};
  options_.set = {"away"};
  expect_refused(ErrorKind::kUsage, "leave nothing of the table 'own' to train");
  options_.rows = "3/2";
  expect_refused(ErrorKind::kUsage, "'3/2' should be i/n");
}

TEST_F(TableRunsTest, FinishedRunsThatAreOutOfDateAreTold) {
  make_folders(options_.out + "/here/second/run-1");
  write("runs/here/second/run-1/results.json", "{\"reports\": []}");
  EXPECT_EQ(plan()[2].outcome.state, RunOutcome::State::kNotRun);
  EXPECT_THAT(warnings_.told.back(), HasSubstr("version of the training: 1;"));
}

TEST_F(TableRunsTest, ARowThatIsNoRecipeHasThatAsItsProblem) {
  table_ = read_paper_table(write("wrong.yaml", R"(title: Wrong
sets: {here: {recipe: {model: none, stages: [{loss: mse}]}}}
columns: [{label: rho, metric: dev.spearman}]
rows: [{label: First}]
)"));
  const std::vector<TableRun> runs = plan();
  EXPECT_FALSE(runs[0].run);
  EXPECT_TRUE(runs[0].is_wrong);
  EXPECT_THAT(runs[0].problem, HasSubstr("wrong.yaml:2"));
}

TEST_F(TableRunsTest, DataAreLookedForWhereARecipeNeedsThem) {
  EXPECT_EQ(find_table_data(table_, path("sets")).folder, path("sets"));
  try {
    find_table_data(table_, path("nowhere"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
  }
}

}  // namespace
}  // namespace simile
