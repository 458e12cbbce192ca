// SPDX-License-Identifier: Apache-2.0
#include "simile/train/seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/core/config.h"
#include "simile/train/detail/run_testing.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Interrupter;

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
  const TrainResult result = train(recipe(), path("all"), false, false, silent_events());
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
  train(recipe({"runs=1", "seed=6"}), path("one"), false, false, silent_events());
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("all/run-2/model/model.safetensors"));
  EXPECT_EQ(bytes("one/metrics.jsonl"), bytes("all/run-2/metrics.jsonl"));
}

TEST_F(SeedsTest, ReportsEachRunMeanAndDeviationThenBaselines) {
  const TrainResult result = train(recipe(), path("all"), false, false, silent_events());
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
  const TrainResult result = train(recipe({"baselines=[bm25, hybrid, hybrid:untrained]"}),
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
  train(recipe(), path("whole"), false, false, silent_events());
  Interrupter interrupter(11);  // of 8 steps a run
  EXPECT_THROW(train(recipe(), path("cut"), false, false, interrupter), Error);
  EXPECT_FALSE(folder_exists(path("cut/run-3")));
  train(recipe(), path("cut"), true, false, silent_events());
  for (const std::string run : {"run-1", "run-2", "run-3"}) {
    EXPECT_EQ(bytes("whole/" + run + "/model/model.safetensors"),
              bytes("cut/" + run + "/model/model.safetensors"));
  }
  EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes("cut/model/model.safetensors"));
}

TEST_F(SeedsTest, OneSeedAndSeveralDoNotGoOnWithEachOther) {
  train(recipe({"runs=1"}), path("one"), false, false, silent_events());
  EXPECT_THROW(train(recipe(), path("one"), true, false, silent_events()), Error);
  train(recipe(), path("all"), false, false, silent_events());
  EXPECT_THROW(train(recipe({"runs=1"}), path("all"), true, false, silent_events()), Error);
  train(recipe({"seed=9"}), path("one"), false, true, silent_events());
  EXPECT_FALSE(file_exists(path("one/metrics.jsonl")));  // it was the older run's
}

TEST_F(SeedsTest, AnOverwrittenRunCanBeResumed) {
  train(recipe(), path("run"), false, false, silent_events());
  Interrupter interrupter(3);
  EXPECT_THROW(train(recipe({"seed=9"}), path("run"), false, true, interrupter), Error);
  train(recipe({"seed=9"}), path("run"), true, false, silent_events());
  train(recipe({"seed=9"}), path("whole"), false, false, silent_events());
  EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes("run/model/model.safetensors"));
}

TEST_F(SeedsTest, FewerRunsReplaceMoreAndAMistakeReplacesNothing) {
  train(recipe(), path("run"), false, false, silent_events());
  EXPECT_THROW(train(recipe({"stages.0.objectives.0.data.path=nowhere.tsv"}), path("run"), false,
                     true, silent_events()),
               Error);
  EXPECT_TRUE(file_exists(path("run/run-3/model/model.safetensors")));
  EXPECT_THROW(train(recipe(), path("run"), false, false, silent_events()), Error);
  train(recipe({"runs=2"}), path("run"), false, true, silent_events());
  EXPECT_FALSE(folder_exists(path("run/run-3")));
}

}  // namespace
}  // namespace simile
