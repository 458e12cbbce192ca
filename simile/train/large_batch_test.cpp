// SPDX-License-Identifier: Apache-2.0
// Gradient caching and accumulation in whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/config.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::HasSubstr;
using testing::Interrupter;

class LargeBatchTest : public testing::RunTest {
 protected:
  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: large
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
attention_dropout: 0.1
stages:
  objectives:
    data: {path: train.tsv, score_scale: 5}
    loss: {name: bsc, temperature: {value: 0.1, trainable: true}}
    batch_size: 20
  epochs: 2
  learning_rate: 1e-3
  optimizer: {name: sgd}
baselines: []
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  // The numbers `key` of all steps of a run.
  std::vector<double> logged(const std::string& run, const std::string& key) const {
    std::vector<double> values;
    std::istringstream lines(bytes(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (json.contains(key)) values.push_back(json[key]);
    }
    return values;
  }
};

TEST_F(LargeBatchTest, CachedGradientsTrainAsTheWholeBatchDoesWithDropout) {
  train(recipe(), path("whole"), false, false, silent_events());
  train(recipe({"stages.0.objectives.0.chunk_tokens=32"}), path("cached"), false, false,
        silent_events());
  const std::vector<double> whole = logged("whole", "gradient_norm");
  const std::vector<double> cached = logged("cached", "gradient_norm");
  ASSERT_EQ(whole.size(), 6u);
  ASSERT_EQ(cached.size(), 6u);
  EXPECT_EQ(logged("whole", "loss")[0], logged("cached", "loss")[0]);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], cached[i], 1e-5 * whole[i]);
}

TEST_F(LargeBatchTest, AccumulatedBatchesOfAMeanOverPairsAreOneLargeBatch) {
  const std::vector<std::string> mse = {"stages.0.objectives.0.loss={name: mse}",
                                        "hidden_dropout=0", "attention_dropout=0",
                                        "stages.0.objectives.0.order.name=sequential"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), mse.begin(), mse.end());
    return recipe(more);
  };
  train(with({}), path("whole"), false, false, silent_events());
  // 60 pairs in batches of 8: steps of 3, 3 and 2 batches, the last with 4 pairs.
  train(with({"stages.0.objectives.0.batch_size=8", "stages.0.accumulation=3"}), path("parts"),
        false, false, silent_events());
  EXPECT_EQ(logged("parts", "loss").size(), 6u);
  train(with({"stages.0.objectives.0.batch_size=24"}), path("large"), false, false,
        silent_events());
  for (const char* key : {"loss", "gradient_norm"}) {
    const std::vector<double> parts = logged("parts", key), large = logged("large", key);
    ASSERT_EQ(parts.size(), large.size());
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_NEAR(parts[i], large[i], 1e-5 * large[i]);
  }
}

TEST_F(LargeBatchTest, ResumesToTheSameBits) {
  const std::vector<std::string> overrides = {
      "stages.0.objectives.0.batch_size=8", "stages.0.accumulation=3",
      "stages.0.objectives.0.chunk_tokens=32", "stages.0.optimizer.name=adamw"};
  train(recipe(overrides), path("whole"), false, false, silent_events());
  for (const int stop_at : {1, 3, 4}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(recipe(overrides), path(name), false, false, interrupter), Error);
    train(recipe(overrides), path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(LargeBatchTest, CachingAndSmoothingExcludeEachOther) {
  try {
    train(recipe({"stages.0.siar.weight=1", "stages.0.objectives.0.chunk_tokens=32"}), path("run"),
          false, false, silent_events());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("chunk_tokens"));
  }
}

}  // namespace
}  // namespace simile
