// SPDX-License-Identifier: Apache-2.0
// Which evaluations use `selection.precision`, and which use fp32 regardless.
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

class SelectionPrecisionTest : public testing::RunTest {
 protected:
  struct Run {
    std::vector<double> during;  // dev.pearson before the first step and after each epoch
    double kept = 0, start = 0;  // as the run reports them
    std::string steps;           // of the log
    double selected = 0;
  };

  Run run(const std::string& name, const std::string& selection) const {
    write("recipe.yaml", R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  - objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
    epochs: 3
    learning_rate: 1e-3
    selection: {metric: dev.pearson, )" +
                             selection + R"(}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [untrained]
)");
    const TrainResult result =
        train(load_config(path("recipe.yaml")), path(name), false, false, silent_events());
    Run run;
    run.selected = result.selected_value.value();
    for (const Report& report : result.reports) {
      (report.model == "untrained" ? run.start : run.kept) = report.metric("pearson");
    }
    std::istringstream lines(bytes(name + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto entry = nlohmann::json::parse(line);
      if (entry.contains("evaluation")) {
        run.during.push_back(entry["metrics"]["pearson"].get<double>());
      } else {
        run.steps += line + "\n";
      }
    }
    return run;
  }
};

TEST_F(SelectionPrecisionTest, OnlyWhatChoosesIsEvaluatedInIt) {
  for (const char* keep : {"best", "best_trained"}) {
    const std::string selection = fmt::format("keep: {}", keep);
    const Run full = run(fmt::format("fp32-{}", keep), selection);
    const Run cheap = run(fmt::format("int8-{}", keep), selection + ", precision: int8");
    EXPECT_EQ(full.steps, cheap.steps);
    EXPECT_EQ(full.start, cheap.start);
    ASSERT_EQ(full.during.size(), 4u);
    ASSERT_EQ(cheap.during.size(), 4u);
    const bool start_may_be_kept = std::string(keep) == "best";
    EXPECT_EQ(full.during[0] != cheap.during[0], start_may_be_kept);
    for (size_t i = 1; i < 4; ++i) {
      EXPECT_NE(full.during[i], cheap.during[i]) << i;
      EXPECT_NEAR(full.during[i], cheap.during[i], 0.05) << i;
    }
    const auto best =
        std::max_element(cheap.during.begin() + (start_may_be_kept ? 0 : 1), cheap.during.end());
    EXPECT_EQ(cheap.selected, cheap.kept);
    EXPECT_EQ(cheap.kept, full.during[static_cast<size_t>(best - cheap.during.begin())]);
  }
}

TEST_F(SelectionPrecisionTest, AStartThatCountsIsEvaluatedAsTheOthers) {
  const std::string patient = "keep: last, early_stop: {patience: 2}";
  const Run full = run("fp32", patient);
  const Run cheap = run("int8", patient + ", precision: int8");
  for (size_t i = 0; i < 4; ++i) EXPECT_NE(full.during[i], cheap.during[i]) << i;
  EXPECT_EQ(full.start, cheap.start);
  EXPECT_EQ(full.kept, cheap.kept);
}

TEST_F(SelectionPrecisionTest, AnotherNameIsRefused) {
  try {
    run("bad", "precision: fp8");
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'stages.0.selection.precision'"));
    EXPECT_THAT(error.what(), HasSubstr("fp32, bf16, int8"));
  }
}

}  // namespace
}  // namespace simile
