// SPDX-License-Identifier: Apache-2.0
// `simile tune` as a user runs it, on the shipped pairs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/shell.h"

namespace simile {
namespace {

#ifdef SIMILE_WITH_TRAINING

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class TuneTest : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "head -n 2000 \"$S\"/models/simile-mini-3/vocab.txt > vocab.txt; cp -r "
        "\"$S\"/examples/rail "
        "rail");
    write("recipe.yaml", R"(name: tiny
architecture: {family: static, hidden: 16}
tokenizer: vocab.txt
stages:
  - name: only
    objectives:
      data: {path: rail/train.tsv, limit: 96, score_scale: 5}
      loss: {name: bsc, temperature: 0.1, duplicates: negatives}
      batch_size: 16
    epochs: 3
    learning_rate: 1e-2
    selection: {metric: dev.spearman}
evaluations: {name: dev, task: sts, data: rail/dev.tsv, limit: 60}
tests: {name: test, task: sts, data: rail/test.tsv, limit: 60}
)");
    write_search("");
  }

  void write_search(const std::string& more) const {
    write("search.yaml", R"(recipe: recipe.yaml
tune:
  space:
    stages.*.learning_rate: {low: 1e-4, high: 1e-1, scale: log}
    stages.*.objectives.*.loss: {choices: [{name: bsc, duplicates: negatives}, mse]}
    stages.*.objectives.*.loss.temperature: {low: 0.05, high: 0.5, scale: log, when: {stages.*.objectives.*.loss: bsc}}
    stages.*.objectives.*.batch_size: {low: 8, high: 32}
  initial: 4
  trials: 8
  runs: 2
)" + more);
  }

  // Every combination of two settings, each trained to its end and none of them tested.
  void write_grid(const std::string& first, const std::string& second) const {
    write("search.yaml",
          fmt::format("recipe: recipe.yaml\ntune:\n  space:\n    {}\n    {}\n  method: grid\n"
                      "  stopping: none\n  runs: 0\n",
                      first, second));
  }

  static std::string line(const std::string& more) {
    return "simile tune search.yaml --threads 1 --quiet --format json " + more;
  }

  Json tune(const std::string& more) const {
    const Outcome outcome = shell(line(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out) : Json();
  }

  // Without what differs from folder to folder.
  static Json findings(const Json& search) {
    Json all;
    for (Json trial : search["trials"]) {
      trial.erase("folder");
      all.push_back(trial);
    }
    all.push_back(search["tests"]);
    return all;
  }
};

TEST_F(TuneTest, TheBestSettingIsARecipeThatTrainTakes) {
  const Outcome text = shell("simile tune search.yaml --threads 1 --out search");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("tiny: dev.spearman by gp, 8 trials"), HasSubstr("1      recipe"),
                    HasSubstr("initial"), HasSubstr("gp"), HasSubstr("share of variance"),
                    HasSubstr("test.spearman"), HasSubstr("best: trial ")));
  EXPECT_THAT(text.err, HasSubstr("trial 8 of 8: "));
  const Json search = Json::parse(read_file(path("search/tune.json")));
  EXPECT_EQ(search["trials"].size(), 8U);
  EXPECT_EQ(search["trials"][0]["settings"]["stages.*.learning_rate"], 0.01);
  double best = 0;
  for (const Json& trial : search["trials"]) {
    if (trial["state"] == "finished") best = std::max(best, trial["value"].get<double>());
  }
  EXPECT_EQ(search["trials"][search["best"].get<size_t>() - 1]["value"], best);
  EXPECT_EQ(search["seeds"], Json({2, 3}));
  EXPECT_THAT(read_file(path("search/tune.md")), HasSubstr("![What the surrogate"));
  EXPECT_THAT(read_file(path("search/tune.svg")), HasSubstr("</svg>"));
  // The recipe gives the trial's value again.
  const Outcome train =
      shell("simile train search/best.yaml --threads 1 --quiet --json --output again");
  ASSERT_EQ(train.code, 0) << train.err;
  EXPECT_NEAR(Json::parse(train.out)["reports"][0]["metrics"]["spearman"].get<double>(), best,
              1e-12);
  EXPECT_FALSE(folder_exists(path("search/trials/trial-1/states")));
  EXPECT_FALSE(folder_exists(path("search/trials/trial-1/model")));
}

TEST_F(TuneTest, KilledAnywhereItGoesOnToTheSameEnd) {
  const Json whole = tune("--out whole");
  for (const char* when : {"trials/trial-1.point.json", "trials/trial-3/metrics.jsonl",
                           "trials/trial-7.point.json", "tests/recipe/run-1/run.json"}) {
    shell("rm -rf cut");
    shell(line("--out cut") + " & until test -e cut/" + when +
          "; do sleep 0.01; done; kill -9 $(pgrep -P $!) $!; wait");
    EXPECT_FALSE(file_exists(path("cut/tune.json"))) << when;
    EXPECT_EQ(findings(tune("--out cut")), findings(whole)) << when;
  }
  // More trials are added to those that there are.
  const Json longer = tune("--out whole --trials 10");
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(longer["trials"][i], whole["trials"][i]);
  EXPECT_EQ(longer["trials"].size(), 10U);
}

TEST_F(TuneTest, SeveralProcessesShareTheTrials) {
  write_search("  parallel: 2\n");
  const Json one = tune("--out one");
  EXPECT_EQ(findings(tune("--out two --processes 2")), findings(one));
}

// Where one begins late the other may have trained all: several attempts.
TEST_F(TuneTest, TwoProcessesShareTheTrialsAndNoneIsTrainedTwice) {
  write_search("  parallel: 2\n");
  const auto count = [this](const std::string& file) {
    return std::stoi(shell("grep -c 'trial [0-9]* of 8: ' " + file + " || true").out);
  };
  int a = 0, b = 0;
  for (int attempt = 0; attempt < 10 && (a == 0 || b == 0); ++attempt) {
    const std::string begin = fmt::format(
        "simile tune search.yaml --threads 1 --format json --out shared-{} stages.0.epochs=12 ",
        attempt);
    shell(begin + ">a.json 2>a.txt & " + begin + ">b.json 2>b.txt; wait");
    a = count("a.txt");
    b = count("b.txt");
    EXPECT_EQ(a + b, 8) << read_file(path("a.txt")) << read_file(path("b.txt"));
    EXPECT_EQ(read_file(path("a.json")), read_file(path("b.json")));
  }
  EXPECT_GT(a, 0);
  EXPECT_GT(b, 0);
}

TEST_F(TuneTest, ChoicesMayBringTheirOwnStages) {
  const std::string objectives =
      "objectives: {data: {path: rail/train.tsv, limit: 96, score_scale: 5}, loss: mse}";
  write("variants.yaml", read_file(path("recipe.yaml")) + fmt::format(R"(variants:
  one: {{}}
  two:
    stages:
      - {{name: warm, {0}, epochs: 1, learning_rate: 1e-2}}
      - {{name: other, {0}, epochs: 2, learning_rate: 1e-2, selection: {{metric: dev.pearson, keep: last}}}}
)",
                                                                      objectives));
  write("search.yaml", R"(recipe: variants.yaml
tune: {space: {variant: {choices: [one, two]}}, method: grid, stopping: none, runs: 0}
)");
  const Json search = tune("--out variants");
  ASSERT_EQ(search["trials"].size(), 2U);
  const Json point = Json::parse(read_file(path("variants/trials/trial-2.point.json")));
  EXPECT_EQ(point["values"].back()["stage"], "other");
  const Json results = Json::parse(read_file(path("variants/trials/trial-2/results.json")));
  EXPECT_EQ(results["reports"][0]["name"], "dev");
  EXPECT_NEAR(search["trials"][1]["value"].get<double>(),
              results["reports"][0]["metrics"]["spearman"].get<double>(), 1e-12);
  expect_error("simile tune search.yaml tune.method=halving --out other", 2, "several stages");
}

TEST_F(TuneTest, HalvingTrainsTheBestToTheirEnd) {
  const Json search = tune("--out half tune.method=halving --trials 9 --runs 0");
  size_t finished = 0, stopped = 0;
  for (const Json& trial : search["trials"]) {
    finished += trial["state"] == "finished" ? 1 : 0;
    stopped += trial["state"] == "stopped" ? 1 : 0;
  }
  EXPECT_EQ(finished, 1U);
  EXPECT_EQ(stopped, 8U);
  const std::string first = read_file(
      path("half/trials/trial-" + std::to_string(search["best"].get<int>()) + ".point.json"));
  EXPECT_EQ(Json::parse(first)["values"].back()["done"], 1.0);
  // Killed between two parts it ends with the same.
  shell(
      line("--out cut tune.method=halving --trials 9 --runs 0") +
      " & until test -e cut/trials/trial-6/metrics.jsonl; do sleep 0.01; done; kill -9 $(pgrep -P "
      "$!) $!; wait");
  EXPECT_EQ(findings(tune("--out cut tune.method=halving --trials 9 --runs 0")), findings(search));
}

TEST_F(TuneTest, GridAndRandomAndFailedTrials) {
  write_grid("stages.*.objectives.*.order: {choices: [random, {name: neighbours, group_size: 8}]}",
             "stages.*.objectives.*.batch_size: {choices: [4, 16]}");
  const Json grid = tune("--out grid");
  EXPECT_EQ(grid["trials"].size(), 4U);
  for (const Json& trial : grid["trials"]) EXPECT_EQ(trial["state"], "finished");
  EXPECT_EQ(tune("--out random tune.method=random tune.trials=9")["trials"].size(), 4U);
}

TEST_F(TuneTest, ATrialThatFailsCountsAsTheWorst) {
  write_grid("stages.*.from: {choices: [previous, elsewhere]}",
             "stages.*.objectives.*.batch_size: {choices: [8, 16]}");
  const Json search = tune("--out some");
  ASSERT_EQ(search["trials"].size(), 4U);
  for (const Json& trial : search["trials"]) {
    const bool is_good = trial["settings"]["stages.*.from"] == "previous";
    EXPECT_EQ(trial["state"], is_good ? "finished" : "failed");
    EXPECT_EQ(trial.contains("value"), is_good);
  }
  EXPECT_LE(search["best"].get<int>(), 2);
  EXPECT_EQ(findings(tune("--out some")), findings(search));  // they stay failed
}

// As a recipe of questions and answers whose folds only the test is cut into.
TEST_F(TuneTest, FoldsAreCheckedWithTheTestsThatTrialsLeaveOut) {
  std::string table = "question\tanswer\n";
  for (int i = 0; i < 12; ++i) table += fmt::format("train {0} to\tplatform {0} at\n", i);
  write("faq.tsv", table);
  write("folded.yaml", R"(name: folded
folds: 3
architecture: {family: static, hidden: 16}
tokenizer: vocab.txt
data_checks: "off"
stages:
  objectives:
    data: {path: faq.tsv, left: question, right: answer, score: "", part: train}
    loss: mnrl
    batch_size: 4
  epochs: 2
  learning_rate: 1e-2
  selection: {metric: dev.spearman}
evaluations: [{name: dev, task: sts, data: rail/dev.tsv, limit: 60}]
tests: [{name: test, task: ranking, data: faq.tsv, left: question, right: answer, score: "", part: test}]
tune: {space: {stages.*.learning_rate: {choices: [1e-2, 1e-1]}}, method: grid, runs: 0}
)");
  const std::string line =
      "simile tune folded.yaml --threads 1 --quiet --format json --out folded ";
  const Outcome outcome = shell(line);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out);
  for (const Json& trial : result["trials"]) {
    EXPECT_EQ(trial["state"], "finished") << trial;
  }
  expect_error(line +
                   "'stages.0.objectives.dev={part: dev}' stages.0.objectives.data.part=fit "
                   "tune.metric=loss.all",
               2, "is a loss; give `tune.metric` one of the evaluations");
  // With one fold alone too what is tested is not chosen by.
  expect_error(line +
                   "folds=0 stages.0.objectives.data.folds=3 tests.0.folds=3 "
                   "'evaluations=[{name: seen, task: ranking, data: faq.tsv, left: question, "
                   "right: answer, score: \"\", part: test, folds: 3}]' tune.metric=seen.map",
               2, "which is to be tested on");
}

TEST_F(TuneTest, MistakesAreToldBeforeTheFirstTrial) {
  const auto expect = [this](const std::string& space, const std::string& message) {
    write("bad.yaml", "recipe: recipe.yaml\ntune: {space: {" + space + "}}\n");
    expect_error("simile tune bad.yaml --out bad", 2, message);
    EXPECT_FALSE(folder_exists(path("bad"))) << space;
  };
  expect("stages.*.learning_rte: {low: 1e-4, high: 1e-2}", "unknown key 'stages.0.learning_rte'");
  expect("stages.*.learning_rate: {low: 1e-2, high: 1e-4}", "`low` should be below `high`");
  expect("stages.*.learning_rate: {low: 0, high: 1, scale: log}", "needs `low` above 0");
  expect("stages.*.learning_rate: {low: 1, high: 100}", "between 0 and 10");
  expect("stages.*.steps: {low: 0.5, high: 10}", "whole numbers");
  expect("stages.*.objectives.*.order: {low: 1, high: 2}", "a name or text; give `choices`");
  expect("stages.*.frozen: {low: 0, high: 1}", "true or false; give `choices`");
  expect("stages.*.objectives.*.order: {choices: []}", "`choices` is empty");
  expect("stages.*.objectives.*.order: {choices: [sorted]}", "should be one of");
  expect("stages.*.learning_rate: {low: 1e-4, high: 1e-2, points: 0}", "the grid would be empty");
  expect("stages.*.learning_rate: {low: 1e-4, high: 1e-2, when: {x: 1}}", "which is no setting");
  expect("stages.*.learning_rate: {low: 1e-4, high: 1e-2, points: 1e10}", "100000 at most");
  expect("seed: {choices: [1, 2]}", "the same in all trials");
  expect("tests.*.limit: {choices: [1, 2]}", "the same in all trials");
  expect("save_every_steps: {choices: [1, 2]}", "a search decides what is saved");
  expect("folds: {choices: [2, 3]}", "the same in all trials");
  expect("", "`tune.space` should be a map");
  expect_error("simile tune recipe.yaml", 2, "there is no `tune`");
  expect_error("simile tune search.yaml tune.metric=dev.map", 2,
               "the evaluation 'dev' has no metric 'map'");
  expect_error("simile tune search.yaml tune.metric=other.spearman", 2,
               "one of the evaluations [dev]");
  expect_error("simile tune search.yaml tune.method=tpe", 2, "one of gp, random, grid, halving");
  shell(line("--out search --trials 4 --runs 0"));
  expect_error("simile tune search.yaml tune.seed=2 --out search", 2, "holds another search");
}

#endif

}  // namespace
}  // namespace simile
