// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/repeated_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "simile/core/config.h"
#include "simile/core/parallel.h"
#include "simile/eval/predictions.h"
#include "simile/report/comparison.h"
#include "simile/train/detail/process_test.h"
#include "simile/train/detail/run_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Interrupter;
using testing::Listener;
using ::testing::MatchesRegex;

class SeedsTest : public testing::RunTest {
 protected:
  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: several
seed: 5
runs: 3
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
  epochs: 2
  learning_rate: 1e-3
  selection: {metric: dev.spearman}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [bm25]
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }
};

TEST_F(SeedsTest, EveryRunIsThatOfItsSeedAndTheBestOnesModelIsKept) {
  const TrainResult result = train_recipe(recipe(), path("all"), false, false, silent_events());
  const nlohmann::json results = nlohmann::json::parse(bytes("all/results.json"));
  ASSERT_EQ(results["runs"].size(), 3u);
  double best = -1;
  std::string best_folder;
  for (int i = 1; i <= 3; ++i) {
    const nlohmann::json& run = results["runs"][static_cast<size_t>(i - 1)];
    EXPECT_EQ(run["seed"], 4 + i);
    if (run["selected"] > best) {
      best = run["selected"];
      best_folder = run["folder"];
    }
  }
  EXPECT_EQ(results["best"], best_folder);
  EXPECT_EQ(bytes("all/model/model.safetensors"),
            bytes("all/" + best_folder + "/model/model.safetensors"));
  train_recipe(recipe({"runs=1", "seed=6"}), path("one"), false, false, silent_events());
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("all/run-2/model/model.safetensors"));
  EXPECT_EQ(bytes("one/metrics.jsonl"), bytes("all/run-2/metrics.jsonl"));
}

TEST_F(SeedsTest, EachRunDrawsOtherRowsOfEachClass) {
  write("topics.tsv", "sentence\tlabel\none\ta\ntwo\ta\nthree\ta\nfour\tb\nfive\tb\nsix\tb\n");
  train_recipe(recipe({"runs=2", "stages.0.selection.metric=[]",
                       "stages.0.objectives={data: {path: " + path("topics.tsv") +
                           ", format: classes, per_class: 2, draw_seed: 7}, loss: {name: triplet, "
                           "mining: batch_all}, batch_size: 4}"}),
               path("all"), false, false, silent_events());
  for (int i = 1; i <= 2; ++i) {
    const auto run = nlohmann::json::parse(bytes(fmt::format("all/run-{}/run.json", i)));
    const nlohmann::json& data = run["stages"][0]["objectives"][0]["data"];
    EXPECT_EQ(data["draw_seed"], 6 + i);
    EXPECT_EQ(data["per_class"], 2);
  }
}

TEST_F(SeedsTest, ReportsEachRunMeanAndDeviationThenBaselines) {
  const TrainResult result = train_recipe(recipe(), path("all"), false, false, silent_events());
  std::vector<std::string> models;
  std::vector<double> values;
  for (const Report& report : result.reports) {
    models.push_back(report.model.substr(0, report.model.find(" (best)")));
    values.push_back(report.metric("spearman"));
  }
  ASSERT_THAT(models, ElementsAre("seed 5", "seed 6", "seed 7", "mean", "sd", "bm25"));
  const double mean = (values[0] + values[1] + values[2]) / 3;
  EXPECT_DOUBLE_EQ(values[3], mean);
  EXPECT_NEAR(values[4],
              std::sqrt((std::pow(values[0] - mean, 2) + std::pow(values[1] - mean, 2) +
                         std::pow(values[2] - mean, 2)) /
                        2),
              1e-12);
}

TEST_F(SeedsTest, EachRunsModelIsAlsoReportedTogetherWithBm25) {
  const TrainResult result = train_recipe(recipe({"baselines=[bm25, hybrid, hybrid:untrained]"}),
                                          path("all"), false, false, silent_events());
  std::vector<std::string> models;
  std::vector<double> values;
  for (const Report& report : result.reports) {
    models.push_back(report.model.substr(0, report.model.find(" (best)")));
    values.push_back(report.metric("spearman"));
  }
  ASSERT_THAT(models, ElementsAre("seed 5", "seed 6", "seed 7", "mean", "sd", "hybrid:seed 5",
                                  "hybrid:seed 6", "hybrid:seed 7", "hybrid:mean", "hybrid:sd",
                                  "bm25", "hybrid:untrained"));
  EXPECT_DOUBLE_EQ(values[8], (values[5] + values[6] + values[7]) / 3);
  EXPECT_NE(values[5], values[6]);
  EXPECT_TRUE(file_exists(path("all/run-3/predictions/hybrid/dev.tsv")));
}

TEST_F(SeedsTest, ResumesInTheRunThatWasInterrupted) {
  train_recipe(recipe(), path("whole"), false, false, silent_events());
  Interrupter interrupter(11);  // of 8 steps a run
  EXPECT_THROW(train_recipe(recipe(), path("cut"), false, false, interrupter), Error);
  EXPECT_FALSE(folder_exists(path("cut/run-3")));
  train_recipe(recipe(), path("cut"), true, false, silent_events());
  for (const std::string run : {"run-1", "run-2", "run-3"}) {
    EXPECT_EQ(bytes("whole/" + run + "/model/model.safetensors"),
              bytes("cut/" + run + "/model/model.safetensors"));
  }
  EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes("cut/model/model.safetensors"));
}

TEST_F(SeedsTest, OneSeedAndSeveralDoNotGoOnWithEachOther) {
  train_recipe(recipe({"runs=1"}), path("one"), false, false, silent_events());
  EXPECT_THROW(train_recipe(recipe(), path("one"), true, false, silent_events()), Error);
  train_recipe(recipe(), path("all"), false, false, silent_events());
  EXPECT_THROW(train_recipe(recipe({"runs=1"}), path("all"), true, false, silent_events()), Error);
  train_recipe(recipe({"seed=9"}), path("one"), false, true, silent_events());
  EXPECT_FALSE(file_exists(path("one/metrics.jsonl")));  // it was the older run's
}

TEST_F(SeedsTest, AnOverwrittenRunCanBeResumed) {
  train_recipe(recipe(), path("run"), false, false, silent_events());
  Interrupter interrupter(3);
  EXPECT_THROW(train_recipe(recipe({"seed=9"}), path("run"), false, true, interrupter), Error);
  train_recipe(recipe({"seed=9"}), path("run"), true, false, silent_events());
  train_recipe(recipe({"seed=9"}), path("whole"), false, false, silent_events());
  EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes("run/model/model.safetensors"));
}

TEST_F(SeedsTest, FewerRunsReplaceMoreAndAMistakeReplacesNothing) {
  train_recipe(recipe(), path("run"), false, false, silent_events());
  EXPECT_THROW(train_recipe(recipe({"stages.0.objectives.0.data.path=nowhere.tsv"}), path("run"),
                            false, true, silent_events()),
               Error);
  EXPECT_TRUE(file_exists(path("run/run-3/model/model.safetensors")));
  EXPECT_THROW(train_recipe(recipe(), path("run"), false, false, silent_events()), Error);
  train_recipe(recipe({"runs=2"}), path("run"), false, true, silent_events());
  EXPECT_FALSE(folder_exists(path("run/run-3")));
}

TEST_F(SeedsTest, SeveralProcessesTrainAsOne) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  const ConfigNode node = recipe({"runs=2", "stages.0.optimizer.name=sgd"});
  train_recipe(node, path("one"), false, false, silent_events());
  testing::as_processes(2, [&](ProcessGroup& group) {
    set_thread_count(1);
    train_recipe(node, path("several"), false, false, silent_events(), &group);
  });
  expect_equal("one/run-1", "several/run-1");
  expect_equal("one/run-2", "several/run-2");
}

TEST_F(SeedsTest, TheVerdictIsTheMeanOfTheirGains) {
  std::vector<std::string> overrides = {"runs=2",
                                        "seed=1",
                                        "baselines=[]",
                                        "stages.0.epochs=30",
                                        "stages.0.selection.metric=dev.pearson",
                                        "stages.0.learning_rate=1e-2",
                                        "stages.0.objectives.0.batch_size=8"};
  Listener events;
  const auto run = [&] {
    return train_recipe(recipe(overrides), path("run"), false, true, events);
  };
  const auto verdict_in = [&](const std::string& folder) {
    return nlohmann::json::parse(bytes(folder + "/results.json"))["verdict"];
  };
  EXPECT_THAT(run().verdict->to_line(),
              MatchesRegex("verdict: [^;]+; dev pearson .* -> .* \\([+][0-9.]+ [+]- [0-9.]+ over "
                           "2 seeds, 95 % interval [+-][0-9.]+ to [+][0-9.]+, 30 pairs\\).*"));
  double sum = 0;
  for (const char* folder : {"run/run-1", "run/run-2"}) {
    sum += verdict_in(folder)["gains"][0]["difference"].get<double>();
  }
  EXPECT_NEAR(verdict_in("run")["gains"][0]["difference"], sum / 2, 1e-12);
  EXPECT_THAT(events.told, Contains(MatchesRegex("seed 2: verdict: [^;]+; dev pearson .*")));
  overrides.push_back("stages.0.learning_rate=1e-20");
  run();
  EXPECT_THAT(events.warned.back(), HasSubstr("NOTHING WAS GAINED by 2 of 2 runs"));
  EXPECT_EQ(verdict_in("run")["start_kept"], 2);
}

class FoldTrainingTest : public testing::FoldTest {
 protected:
  TrainResult train_in(const std::string& name, const std::vector<std::string>& overrides = {},
                       bool resume = false) const {
    return train_recipe(recipe(overrides), path(name), resume, false, silent_events());
  }
};

TEST_F(FoldTrainingTest, EachFoldIsThatOfItsRecipeAndAllAreOneTable) {
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
  EXPECT_THAT(result.verdict->to_line(), HasSubstr("over 3 folds, 95 % interval "));
  EXPECT_EQ(result.verdict->gains[0].examples, queries);

  train_in("one", {"folds=0", "stages.objectives.data.folds=3", "stages.objectives.data.fold=1",
                   "tests.folds=3", "tests.fold=1"});
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("all/run-2/model/model.safetensors"));
  EXPECT_EQ(bytes("one/metrics.jsonl"), bytes("all/run-2/metrics.jsonl"));
}

TEST_F(FoldTrainingTest, EveryQueryIsPredictedOnceWithEqualTextsInOneFold) {
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

TEST_F(FoldTrainingTest, GoesOnInTheFoldThatWasInterrupted) {
  train_in("whole");
  Interrupter interrupter(7);
  EXPECT_THROW(train_recipe(recipe(), path("cut"), false, false, interrupter), Error);
  EXPECT_FALSE(folder_exists(path("cut/run-3")));
  train_in("cut", {}, true);
  for (const std::string run : {"run-1", "run-2", "run-3"}) {
    EXPECT_EQ(bytes("whole/" + run + "/model/model.safetensors"),
              bytes("cut/" + run + "/model/model.safetensors"));
  }
  EXPECT_EQ(bytes("whole/predictions/test.trec"), bytes("cut/predictions/test.trec"));
}

TEST_F(FoldTrainingTest, StagesThatTeachOneAnotherStayWithinTheirFold) {
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

TEST_F(FoldTrainingTest, RunsOnFoldsAreComparedFoldByFold) {
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

}  // namespace
}  // namespace simile
