// SPDX-License-Identifier: Apache-2.0
#include "simile/train/fold_runs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "simile/core/config.h"
#include "simile/eval/predictions.h"
#include "simile/report/comparison.h"
#include "simile/train/detail/run_testing.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Interrupter;

// 12 answers with two questions each, one of which stands there twice in another form.
std::string questions_and_answers() {
  std::string table = "question\tanswer\n";
  for (int i = 0; i < 12; ++i) {
    table += fmt::format("w{} w{}\tw{} w{} w{}\n", i, i + 20, i, i + 1, i + 10);
    table += fmt::format("w{} w{} w{}\tw{} w{} w{}\n", i, i + 12, i + 13, i, i + 1, i + 10);
  }
  return table + "W0  w20!\tw30 w31\n";
}

class FoldRunsTest : public testing::RunTest {
 protected:
  FoldRunsTest() { write("faq.tsv", questions_and_answers()); }

  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: folded
seed: 5
folds: 3
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  objectives:
    data: {path: faq.tsv, left: question, right: answer, score: "", part: fit}
    dev: {part: dev}
    loss: mnrl
    batch_size: 4
  epochs: 2
  learning_rate: 1e-3
  selection: {metric: loss.all}
tests:
  {name: test, task: ranking, data: faq.tsv, left: question, right: answer, score: "", part: test,
   metrics: [map, has_positive@1, has_positive@3, has_positive@5]}
baselines: [bm25, hybrid]
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  TrainResult train_in(const std::string& name, const std::vector<std::string>& overrides = {},
                       bool resume = false) const {
    return train(recipe(overrides), path(name), resume, false, silent_events());
  }

  TrainOptions applied(const std::vector<std::string>& overrides) const {
    TrainOptions options;
    read_options(recipe(overrides), options);
    apply_folds(options);
    return options;
  }

  std::string error_with(const std::vector<std::string>& overrides) const {
    try {
      applied(overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(FoldRunsTest, EachFoldIsThatOfItsRecipeAndAllAreOneTable) {
  const TrainResult result = train_in("all");
  EXPECT_EQ(result.model_path, "");
  EXPECT_FALSE(folder_exists(path("all/model")));
  const nlohmann::json results = nlohmann::json::parse(bytes("all/results.json"));
  ASSERT_EQ(results["runs"].size(), 3u);
  EXPECT_EQ(results["runs"][2]["fold"], 2);
  EXPECT_FALSE(results.contains("best"));
  std::vector<std::string> models;
  for (const Report& report : result.reports) models.push_back(report.model);
  ASSERT_THAT(models, ElementsAre("fold 0", "fold 1", "fold 2", "mean", "sd", "all", "bm25",
                                  "bm25 sd", "hybrid:fold 0", "hybrid:fold 1", "hybrid:fold 2",
                                  "hybrid:mean", "hybrid:sd", "hybrid:all"));
  double sum = 0, weighted = 0;
  int64_t queries = 0;
  for (size_t fold = 0; fold < 3; ++fold) {
    const Report& report = result.reports[fold];
    sum += report.metric("map");
    weighted += report.metric("map") * static_cast<double>(report.examples);
    queries += report.examples;
  }
  EXPECT_DOUBLE_EQ(result.reports[3].metric("map"), sum / 3);
  EXPECT_EQ(result.reports[3].examples, queries);
  EXPECT_EQ(result.reports[5].examples, queries);
  EXPECT_NEAR(result.reports[5].metric("map"), weighted / static_cast<double>(queries), 1e-12);
  EXPECT_NE(result.reports[5].find_metric("has_positive@5"), nullptr);
  EXPECT_THAT(result.verdict->to_line(), HasSubstr("over 3 folds"));

  train_in("one", {"folds=0", "stages.objectives.data.folds=3", "stages.objectives.data.fold=1",
                   "tests.folds=3", "tests.fold=1"});
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("all/run-2/model/model.safetensors"));
  EXPECT_EQ(bytes("one/metrics.jsonl"), bytes("all/run-2/metrics.jsonl"));
}

TEST_F(FoldRunsTest, EveryQueryIsPredictedOnceWithEqualTextsInOneFold) {
  train_in("all");
  const Predictions all = read_predictions(path("all/predictions/test.trec"));
  EXPECT_EQ(std::set<std::string>(all.left.begin(), all.left.end()).size(), all.left.size());
  EXPECT_EQ(all.size(), 25);  // equal but for case and marks: two queries of one fold
  std::vector<std::set<std::string>> folds;
  for (int run = 1; run <= 3; ++run) {
    const Predictions part =
        read_predictions(path(fmt::format("all/run-{}/predictions/test.trec", run)));
    folds.emplace_back(part.right.begin(), part.right.end());
    EXPECT_EQ(folds.back().count("w0 w20"), folds.back().count("W0  w20!"));
  }
  EXPECT_EQ(folds[0].size() + folds[1].size() + folds[2].size(), 25u);
  EXPECT_TRUE(file_exists(path("all/predictions/hybrid/test.queries.tsv")));
}

TEST_F(FoldRunsTest, GoesOnInTheFoldThatWasInterrupted) {
  train_in("whole");
  Interrupter interrupter(7);
  EXPECT_THROW(train(recipe(), path("cut"), false, false, interrupter), Error);
  EXPECT_FALSE(folder_exists(path("cut/run-3")));
  train_in("cut", {}, true);
  for (const std::string run : {"run-1", "run-2", "run-3"}) {
    EXPECT_EQ(bytes("whole/" + run + "/model/model.safetensors"),
              bytes("cut/" + run + "/model/model.safetensors"));
  }
  EXPECT_EQ(bytes("whole/predictions/test.trec"), bytes("cut/predictions/test.trec"));
}

TEST_F(FoldRunsTest, StagesThatTeachOneAnotherStayWithinTheirFold) {
  const std::string data = fmt::format(
      "data: {{path: {}, left: question, right: answer, score: '', part: fit}}, batch_size: 4",
      path("faq.tsv"));
  const std::string stages = fmt::format(
      "stages=[{{name: entropy, objectives: {{{0}, dev: {{part: dev}}, loss: {{name: rcl_entropy, "
      "scale: 20, phi: 0.02}}}}, steps: 3, selection: {{metric: loss.all, every_steps: 1, "
      "early_stop: {{patience: 1}}}}}}, {{name: final, from: start, objectives: {{{0}, loss: "
      "{{name: rcl, scale: 20}}, teachers: [entropy]}}, steps: 2}}]",
      data);
  const TrainResult result = train_in("rcl", {stages, "baselines=[]"});
  EXPECT_EQ(result.reports.size(), 6u);
  EXPECT_TRUE(file_exists(path("rcl/run-3/stages/entropy.safetensors")));
}

TEST_F(FoldRunsTest, RunsOnFoldsAreComparedFoldByFold) {
  train_in("a");
  train_in("b", {"stages.learning_rate=1e-2"});
  ComparisonOptions options;
  options.samples = 200;
  options.metrics = {"map"};
  const Comparison result = compare_runs(path("a"), path("b"), options, silent_events());
  const ComparedMetric& metric = result.reports[0].metrics[0];
  EXPECT_EQ(metric.a_values.size(), 3u);
  EXPECT_EQ(result.reports[0].examples, 25);
  ASSERT_TRUE(metric.interval && metric.t_test);
  EXPECT_LE(metric.interval->low, metric.difference);
  EXPECT_GE(metric.interval->high, metric.difference);
  EXPECT_THAT(result.to_table(), AllOf(HasSubstr("(3 folds)"), HasSubstr("paired over 3 folds")));
  train_in("c", {"folds=4"});
  EXPECT_THROW(compare_runs(path("a"), path("c"), options, silent_events()), Error);
}

TEST_F(FoldRunsTest, DataThatIsCutOtherwiseIsRefused) {
  const std::string data = "stages.objectives.data.";
  write("more.tsv", questions_and_answers() + "w38\tw39\n");  // other folds than the tested file's
  for (const std::string& other :
       {"path=" + path("more.tsv"), std::string("limit=20"), std::string("group=answer")}) {
    EXPECT_THAT(error_with({data + other}), HasSubstr("cut different data")) << other;
  }
  EXPECT_THAT(error_with({data + "group=answer", "tests.group=answer"}), "");
  const std::string whole =
      "stages=[{objectives: [{data: {path: " + path("faq.tsv") +
      ", left: question, right: answer, score: '', part: train}, loss: mnrl}, "
      "{data: {path: " +
      path("faq.tsv") + ", left: question, right: answer, score: ''}, loss: bsc}]}]";
  EXPECT_THAT(error_with({whole}), HasSubstr("objectives.1.data trains on all of what"));
}

TEST_F(FoldRunsTest, WhatIsCutTakesTheRecipesFolds) {
  const TrainOptions options = applied({});
  EXPECT_EQ(options.stages[0].objectives[0].data.folds.folds, 3);
  EXPECT_EQ(options.tests[0].ranking.folds.folds, 3);
  const TrainOptions last = options_of_fold(options, 2);
  EXPECT_EQ(last.folds, 0);
  EXPECT_EQ(last.stages[0].objectives[0].data.folds.fold, 2);
  EXPECT_EQ(last.tests[0].ranking.folds.fold, 2);
  EXPECT_TRUE(is_cut(last.tests[0]));
}

TEST_F(FoldRunsTest, RecipesThatCannotBeMeantAreErrors) {
  const std::string data = "stages.objectives.data.";
  EXPECT_THAT(error_with({}), "");
  EXPECT_THAT(error_with({"runs=2"}), HasSubstr("`folds: 3` and `runs: 2`"));
  EXPECT_THAT(error_with({"folds=1"}), HasSubstr("expected at least 2"));
  EXPECT_THAT(error_with({data + "part="}), HasSubstr("set `part: train`"));
  EXPECT_THAT(error_with({"tests.part="}), HasSubstr("set `part: test`"));
  EXPECT_THAT(error_with({data + "part=train"}), HasSubstr("take `part: fit`"));
  EXPECT_THAT(error_with({"tests.folds=4"}), HasSubstr("`folds: 4` of tests.0 cut"));
  EXPECT_THAT(error_with({"tests.fold=1"}), HasSubstr("tests.0: `fold: 1` reads one fold"));
  EXPECT_THAT(error_with({"tests.fold_seed=2"}), HasSubstr("give both the same"));
}

TEST_F(FoldRunsTest, NothingIsChosenOnThePartTested) {
  const auto evaluation = [&](const std::string& part) {
    return "evaluations={name: dev, task: ranking, data: " + path("faq.tsv") +
           ", left: question, right: answer, score: '', part: " + part + "}";
  };
  const std::string by_dev = "stages.selection.metric=dev.map";
  EXPECT_THAT(error_with({evaluation("dev"), by_dev}), "");
  EXPECT_THAT(error_with({evaluation("test"), by_dev}),
              HasSubstr("'dev.map' chooses by `part: test` of the evaluation 'dev'"));
  EXPECT_THAT(error_with({evaluation("test")}), "");  // looked at, not chosen by
  EXPECT_THAT(error_with({"stages.objectives.dev.part=test"}),
              HasSubstr("`part: test` of an objective's `dev`"));
  EXPECT_THAT(error_with({evaluation("test, folds: 3"), by_dev, "folds=0",
                          "stages.objectives.data.folds=3", "tests.folds=3"}),
              HasSubstr("chooses by `part: test`"));
}

}  // namespace
}  // namespace simile
