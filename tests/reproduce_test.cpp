// SPDX-License-Identifier: Apache-2.0
// `simile reproduce` as a user runs it, with a table of his own on the shipped pairs.
#include <nlohmann/json.hpp>

#include "tests/shell.h"

namespace simile {
namespace {

#ifdef SIMILE_WITH_TRAINING

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ReproduceTest : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "head -n 2000 \"$S\"/models/simile-mini-3/vocab.txt > vocab.txt; mkdir sets; "
        "cp -r \"$S\"/examples/rail sets/rail");
    write_table("mse", "pearson");
  }

  // Two rows that learn, one that fails, one of a set that is not there.
  void write_table(const std::string& first, const std::string& second) const {
    write("tiny.yaml", fmt::format(R"(title: Tiny
source: Somebody (2026), table 1
sets:
  rail:
    recipe: &recipe
      architecture: {{layers: 1, hidden: 16, heads: 2, intermediate: 16}}
      tokenizer: vocab.txt
      stages:
        - name: only
          objectives: [{{data: {{path: $data/train.tsv, limit: 64, score_scale: 5}}, loss: {0}, batch_size: 16}}]
          steps: 6
          selection: {{metric: dev.spearman, every_steps: 3}}
      evaluations: {{name: dev, task: sts, data: $data/dev.tsv, limit: 40}}
      tests: {{name: test, task: sts, data: $data/test.tsv, limit: 40}}
      baselines: [bm25]
  absent: {{recipe: *recipe}}
columns:
  - {{label: rho, set: rail, metric: test.spearman}}
  - {{label: far, set: absent, metric: test.spearman}}
settings: {{fast: {{values: {{stages.*.learning_rate: 1e-2}}}}}}
rows:
  - {{label: First, paper: [80, 70]}}
  - {{label: Second, paper: [85, ~], sets: rail, values: {{stages.*.objectives.*.loss: {1}}}}}
  - {{label: Broken, sets: rail, values: {{stages.*.objectives.*.head: nobody}}}}
  - {{label: BM25, baseline: bm25}}
claims:
  - {{above: Second, below: First}}
)",
                                   first, second));
  }

  static std::string line(const std::string& more) {
    return "simile reproduce tiny.yaml --data sets --threads 1 --quiet --format json " + more;
  }

  Json reproduce(const std::string& more, int code = 1) const {  // 1: a row fails
    const Outcome outcome = shell(line(more));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return Json::parse(outcome.out);
  }

  static Json values(const Json& table) {
    Json all;
    for (const auto& row : table["rows"]) {
      for (const auto& cell : row["cells"]) all.push_back(cell.value("values", Json::array()));
    }
    return all;
  }

  std::string bytes(const std::string& run) const { return read_file(path(run + "/results.json")); }
};

TEST_F(ReproduceTest, ATableIsTrainedAndWhatFailsStandsInItsCell) {
  const Outcome text =
      shell("simile reproduce tiny.yaml --data sets --threads 1 --runs 2 --out table");
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("tiny: Tiny\nSomebody (2026), table 1\n"), HasSubstr("80.00"),
                    HasSubstr("(2)"), HasSubstr("not at hand: absent"), HasSubstr("failed: "),
                    HasSubstr("no head 'nobody'"), HasSubstr("undecided")));
  EXPECT_THAT(text.err, AllOf(HasSubstr("'absent' is not at hand"), HasSubstr("2 runs failed"),
                              HasSubstr("run 1 of 6: tiny First, rail, seed 1")));
  const Json table = Json::parse(read_file(path("table/tiny.json")));
  EXPECT_EQ(table["rows"][0]["cells"][0]["seeds"], Json({1, 2}));
  EXPECT_EQ(table["claims"][0]["verdict"], "undecided");
  EXPECT_EQ(table["rows"][3]["cells"][0]["values"].size(), 1U);
  EXPECT_THAT(read_file(path("table/tiny.md")),
              AllOf(HasSubstr("|  | rho, paper | rho, ours |"),
                    HasSubstr("Made by `simile reproduce tiny.yaml --data sets --runs 2`; with "
                              "`--row 'LABEL' --set NAME` one cell of it.\n")));
  EXPECT_THAT(read_file(path("table/tiny.svg")), HasSubstr("</svg>"));
  EXPECT_FALSE(folder_exists(path("table/rail/first/run-1/states")));
  EXPECT_FALSE(folder_exists(path("table/rail/first/run-1/model")));
  // Runs compare as any do.
  EXPECT_EQ(shell("simile compare table/rail/first table/rail/second").code, 0);
}

TEST_F(ReproduceTest, KilledAnywhereItGoesOnWithoutRepeatingRuns) {
  const Json whole = reproduce("--runs 2 --out whole");
  for (const char* when :
       {"first/run-1/metrics.jsonl", "first/run-1/results.json", "second/run-2/run.json"}) {
    shell("rm -rf cut");
    shell(line("--runs 2 --out cut") + " & until test -e cut/rail/" + when +
          "; do sleep 0.01; done; kill -9 $(pgrep -P $!) $!; wait");
    const bool was_finished = file_exists(path("cut/rail/first/run-1/results.json"));
    const std::string before = was_finished ? bytes("cut/rail/first/run-1") : "";
    const Json cut = reproduce("--runs 2 --out cut");
    EXPECT_EQ(values(cut), values(whole)) << when;
    if (was_finished) {
      EXPECT_EQ(bytes("cut/rail/first/run-1"), before);
    }
  }
}

TEST_F(ReproduceTest, AChangeRunsTheRowsAgainThatDependOnIt) {
  reproduce("--runs 1 --out table");
  const std::string first = bytes("table/rail/first/run-1"),
                    second = bytes("table/rail/second/run-1");
  write_table("mse", "cosent");
  reproduce("--runs 1 --out table");
  EXPECT_EQ(bytes("table/rail/first/run-1"), first);
  const std::string third = bytes("table/rail/second/run-1");
  EXPECT_NE(third, second);
  // Moved data are the same data, others are not.
  shell("mv sets moved; mkdir sets; mv moved/rail sets/rail");
  reproduce("--runs 1 --out table");
  EXPECT_EQ(bytes("table/rail/first/run-1"), first);
  shell("sed -i '2s/[0-9.]*$/0/' sets/rail/test.tsv; sed -i '3d' sets/rail/test.tsv");
  reproduce("--runs 1 --out table");
  EXPECT_NE(bytes("table/rail/first/run-1"), first);
  EXPECT_NE(bytes("table/rail/second/run-1"), third);
  const std::string fourth = bytes("table/rail/first/run-1");
  shell("sed -i '1999d' vocab.txt");  // of the model that every row starts from
  reproduce("--runs 1 --out table");
  EXPECT_NE(bytes("table/rail/first/run-1"), fourth);
}

TEST_F(ReproduceTest, ResultsThatWereChangedOrDamagedAreNotShownAndMadeAnew) {
  const std::string one = "--runs 1 --row First --set rail --out table";
  const Json whole = reproduce(one, 0);
  const std::string results = "table/rail/first/run-1/results.json",
                    good = read_file(path(results));
  for (const std::string& damage :
       {"sed -i 's/\"spearman\": /&1/' " + results, "truncate -s 90 " + results,
        std::string("echo '{\"format\":1,\"fingerprint\":5}' >table/rail/first/run-1.json")}) {
    shell(damage);
    const Json shown = reproduce(one + " --show", 0);
    EXPECT_EQ(shown["rows"][0]["cells"][0].count("values"), 0U) << damage;
    EXPECT_EQ(values(reproduce(one, 0)), values(whole)) << damage;
  }
  EXPECT_THAT(shell(line(one + " --keep-models")).err, HasSubstr("of 1 finished runs the models"));
}

TEST_F(ReproduceTest, WhatIsNotAtHandIsToldAndNothingRunIsAnError) {
  shell("rm sets/rail/test.tsv");
  const Outcome without = shell(line("--runs 1 --out table"));
  EXPECT_EQ(without.code, 3);
  EXPECT_THAT(without.err, AllOf(HasSubstr("test.tsv: not run are the rows First, Second, Broken"),
                                 HasSubstr("nothing of the table could be run")));
}

TEST_F(ReproduceTest, OneCellMayBeTrainedAlone) {
  const Json cell = reproduce("--runs 1 --out table --row Second --set rail", 0);
  EXPECT_EQ(cell["rows"][0]["cells"][0]["problem"], "not run yet");
  EXPECT_EQ(cell["rows"][1]["cells"][0]["values"].size(), 1U);
  EXPECT_EQ(cell["command"], "simile reproduce tiny.yaml --data sets --runs 1");
  const std::string second = bytes("table/rail/second/run-1");
  reproduce("--runs 1 --out table");
  EXPECT_EQ(bytes("table/rail/second/run-1"), second);
  reproduce("--runs 1 --out table --row Second", 0);  // whatever became of other rows
  const Json two = reproduce("--runs 1 --out pair --row First --row Second", 0);
  EXPECT_EQ(two["rows"][0]["cells"][0]["values"].size(), 1U);
  EXPECT_EQ(two["rows"][1]["cells"][0]["values"].size(), 1U);
  expect_error("simile reproduce tiny.yaml --data sets --row Second --set absent", 2,
               "leave nothing of the table 'tiny' to train");
}

TEST_F(ReproduceTest, WhatIsFinishedIsShownWithoutTraining) {
  reproduce("--runs 1 --out table --row Second --set rail", 0);
  const std::string written = read_file(path("table/tiny.json"));
  const Json rail = reproduce("--runs 1 --out table --show --set rail", 0);
  ASSERT_EQ(rail["columns"].size(), 1U);
  EXPECT_EQ(rail["columns"][0]["label"], "rho");
  EXPECT_EQ(rail["rows"][0]["cells"][0]["paper"], 80);
  EXPECT_EQ(rail["rows"][1]["cells"].size(), 1U);
  EXPECT_EQ(rail["command"], "simile reproduce tiny.yaml --data sets --runs 1 --set rail");
  EXPECT_EQ(reproduce("--out table --show --set rail", 0)["command"], rail["command"]);
  const Json shown = reproduce("--runs 2 --out table --show", 0);
  EXPECT_EQ(shown["rows"][1]["cells"][0]["seeds"], Json({1}));
  EXPECT_EQ(shown["rows"][0]["cells"][0]["problem"], "not run yet");
  EXPECT_EQ(shown["rows"][0]["cells"][1]["problem"], "not at hand: absent");
  EXPECT_THAT(shell("simile reproduce tiny.yaml --data sets --runs 2 --out table --show").out,
              AllOf(HasSubstr("First (rho): not run yet"),
                    HasSubstr("Second (rho): 1 of 2 seeds; the others: not run yet")));
  EXPECT_FALSE(folder_exists(path("table/rail/first/run-1")));
  EXPECT_FALSE(shown["rows"][1]["cells"][0].contains("interval"));
  const Json cell = reproduce("--runs 2 --out table --show --intervals", 0)["rows"][1]["cells"][0];
  EXPECT_LT(cell["interval"]["low"], cell["mean"]);
  EXPECT_GT(cell["interval"]["high"], cell["mean"]);
  EXPECT_EQ(read_file(path("table/tiny.json")), written);
}

TEST_F(ReproduceTest, FinishedRunsAreNotLostToAMistake) {
  reproduce("--runs 1 --out table --row First", 0);
  const std::string first = bytes("table/rail/first/run-1");
  expect_error("simile reproduce tiny.yaml --data sets --runs 1 --out table --model nowhere", 3,
               "nowhere");
  EXPECT_EQ(bytes("table/rail/first/run-1"), first);
  write_table("cosent", "pearson");
  const Outcome outcome = shell(line("--runs 1 --out table --row First"));
  EXPECT_THAT(outcome.err,
              HasSubstr("in 'table' are finished runs of another recipe, model, data or "
                        "version of the training: 1"));
}

TEST_F(ReproduceTest, ARowIsRunWithItsSettingsAlone) {
  shell(
      "sed -i 's/settings: {fast:/settings: {slow: {values: {}}, fast:/; "
      "s/{label: Second,/{label: Second, settings: [slow],/' tiny.yaml");
  const Json fast = reproduce("--runs 1 --out fast --settings fast --row First", 0);
  EXPECT_EQ(fast["rows"][1]["cells"][0]["problem"], "not run");
  EXPECT_EQ(fast["rows"][1]["absent"], "it is not run with the settings 'fast'");
  EXPECT_TRUE(fast["claims"].empty());  // of a row that is not run
  const Json slow = reproduce("--runs 1 --out slow --settings slow --row Second", 0);
  EXPECT_EQ(slow["rows"][1]["cells"][0]["values"].size(), 1U);
  EXPECT_EQ(slow["claims"].size(), 1U);
}

// By what reports call them: a mean of the metrics selected by, an untrained model from `model`.
TEST_F(ReproduceTest, MeansAndHybridsOfTheStartAreFound) {
  shell(
      "sed -i 's/selection: {metric: dev.spearman,/selection: {metric: [dev.spearman, "
      "dev.pearson],/; "
      "s/baselines: .bm25./baselines: [bm25, untrained]/; s/metric: test.spearman}/metric: "
      "mean.mean}/; "
      "s/baseline: bm25/baseline: zero-shot/' tiny.yaml");
  const Json table = reproduce("--runs 1 --out table --row First --set rail", 0);
  EXPECT_EQ(table["rows"][0]["cells"][0]["values"].size(), 1U);
  EXPECT_EQ(table["rows"][3]["cells"][0]["values"].size(), 1U);
}

TEST_F(ReproduceTest, FetchedDataAreFound) {
  shell("mv sets data; sed -i '/far/d; /absent:/d; s/, ~]/]/; s/80, 70/80/' tiny.yaml");
  const Outcome outcome =
      shell("simile reproduce tiny.yaml --runs 1 --row First --quiet --threads 1 --format json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json table = Json::parse(outcome.out);
  EXPECT_EQ(table["rows"][0]["cells"][0]["values"].size(), 1U);
  EXPECT_EQ(table["command"], "simile reproduce tiny.yaml --data data --runs 1");
}

TEST_F(ReproduceTest, SharesOfRowsTogetherAreTheTable) {
  const Json whole = reproduce("--runs 2 --out whole");
  const Json part = reproduce("--runs 2 --out parts --rows 1/2");
  EXPECT_EQ(part["rows"][1]["cells"][0]["problem"], "not run yet");
  // The row that fails is of the other share.
  EXPECT_EQ(values(reproduce("--runs 2 --out parts --rows 2/2", 0)), values(whole));
}

TEST_F(ReproduceTest, WhatAKillLeftOfAFinishedRunIsRemovedByTheNextStart) {
  reproduce("--runs 1 --out table");
  const std::string results = bytes("table/rail/first/run-1");
  // As after a kill between the results and the removal.
  shell("mkdir table/rail/first/run-1/states table/rail/first/run-1/model");
  reproduce("--runs 1 --out table");
  EXPECT_FALSE(folder_exists(path("table/rail/first/run-1/states")));
  EXPECT_FALSE(folder_exists(path("table/rail/first/run-1/model")));
  EXPECT_EQ(bytes("table/rail/first/run-1"), results);
  reproduce("--runs 1 --out kept --keep-models");
  reproduce("--runs 1 --out kept");
  EXPECT_TRUE(folder_exists(path("kept/rail/first/run-1/model")));
}

TEST_F(ReproduceTest, ARunThatAnotherProcessLeftIsTakenUp) {
  // Holds the first run until the second is done.
  shell(
      "mkdir -p table/rail/first; flock table/rail/first/run-1.lock sh -c 'until test -e "
      "table/rail/second/run-1/results.json; do sleep 0.01; done' >lock.log 2>&1 &");
  const Json table = reproduce("--runs 2 --out table");
  EXPECT_EQ(table["rows"][0]["cells"][0]["seeds"], Json({1, 2}));
}

TEST_F(ReproduceTest, BaselinesDoNotHangOnTheFirstRow) {
  const std::string baseline = reproduce("--runs 1 --out whole")["rows"][3]["cells"][0].dump();
  shell(
      "grep 'label: Broken' tiny.yaml >broken; sed -i '/label: Broken/d' tiny.yaml; "
      "sed -i '/^rows:/r broken' tiny.yaml");
  for (int start = 0; start < 2; ++start) {
    const Json table = reproduce("--runs 1 --out table");
    EXPECT_THAT(table["rows"][0]["cells"][0]["problem"].dump(), HasSubstr("no head 'nobody'"));
    EXPECT_EQ(table["rows"][1]["cells"][0]["values"].size(), 1U);
    EXPECT_EQ(table["rows"][3]["cells"][0].dump(), baseline);
  }
}

TEST_F(ReproduceTest, MistakesAreToldBeforeAnythingIsTrained) {
  expect_error("simile reproduce no-such --data sets", 2, "there is no table 'no-such'");
  expect_error("simile reproduce tiny.yaml", 2,
               "--data: give the folder of the data sets, with 'rail'");
  expect_error("simile reproduce tiny.yaml --data sets --row Thrd", 2,
               "--row: the table 'tiny' trains no 'Thrd'; there are 'First', 'Second', 'Broken'");
  expect_error("simile reproduce tiny.yaml --data nowhere", 3, "there is no folder");
  expect_error("simile reproduce tiny.yaml --data sets --rows 3/2", 2, "should be i/n");
  expect_error("simile reproduce tiny.yaml --data sets --settings slow", 2, "it has [fast]");
  shell("sed 's/metric: test.spearman/metric: tset.spearman/' tiny.yaml >column.yaml");
  expect_error("simile reproduce column.yaml --data sets", 2,
               "the column 'rho': the recipes of the set 'rail' have no evaluation 'tset'; they "
               "have dev, test");
  shell("sed 's/baseline: bm25/baseline: bm52/' tiny.yaml >baseline.yaml");
  expect_error("simile reproduce baseline.yaml --data sets", 2, "have no baseline 'bm52'");
  shell("sed 's/metric: test.spearman/metric: test.spearmann/' tiny.yaml >metric.yaml");
  expect_error("simile reproduce metric.yaml --data sets", 2,
               "metric.yaml: the column 'rho': the evaluation 'test' has no metric 'spearmann'");
  EXPECT_FALSE(folder_exists(path("runs/metric")));
  EXPECT_THAT(shell("simile reproduce list").out, HasSubstr("bsc-table3"));
}

#endif

}  // namespace
}  // namespace simile
