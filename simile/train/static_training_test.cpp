// SPDX-License-Identifier: Apache-2.0
// Whole runs of a static encoder.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Interrupter;

class StaticTrainingTest : public testing::RunTest {
 protected:
  // Losses, heads, orders, stages and regularisers on one table.
  ConfigNode static_recipe(const std::vector<std::string>& overrides = {}) const {
    write("static.yaml", R"(
name: small
architecture: {family: static, hidden: 24}
tokenizer: vocab.txt
hidden_dropout: 0.1
heads: {name: similar, kind: mlp, input: pair, output: probability, layers: 2, width: 8, dropout: 0.2}
stages:
  - name: pairs
    objectives:
      - data: {path: train.tsv, score_scale: 5}
        loss: {name: bsc, temperature: {value: 0.1, trainable: true}}
        order: {name: neighbours, group_size: 4, neighbours: 20}
        batch_size: 8
        chunk_tokens: 30
      - {data: {path: train.tsv, score_scale: 5}, loss: bce, head: similar, batch_size: 16}
    epochs: 2
    learning_rate: 1e-2
    selection: {metric: dev.spearman}
  - name: scores
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
    epochs: 1
    learning_rate: 1e-2
    siar: {weight: 1, noise: 1, step_size: 1, radius: 2, bregman: 0.5}
    selection: {keep: last, metric: dev.spearman, every_steps: 2}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [bm25, untrained]
)");
    ConfigNode node = load_config(join_path(folder_, "static.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  std::vector<double> losses(const std::string& run) const {
    std::vector<double> values;
    std::istringstream lines(bytes(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (!json.contains("evaluation")) values.push_back(json.value("loss", 0.0));
    }
    return values;
  }

  std::string refusal(const std::vector<std::string>& overrides) const {
    try {
      train(static_recipe(overrides), path("bad"), false, true, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe) << error.what();
      return error.what();
    }
    return "no error";
  }
};

TEST_F(StaticTrainingTest, ResumesToTheSameBits) {
  const ConfigNode node = static_recipe();
  train(node, path("whole"), false, false, silent_events());
  const std::string weights = "/model/0_StaticEmbedding/model.safetensors";
  for (const int stop_at : {6, 14}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole" + weights), bytes(name + weights));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(StaticTrainingTest, TheSavedModelGivesItsVectorsAndTrainsOn) {
  const TrainResult first = train(static_recipe(), path("first"), false, false, silent_events());
  const SentenceEncoder encoder = SentenceEncoder::load(path("first/model"), silent_events());
  EXPECT_EQ(check_self_test(path("first/model"), encoder).value_or(1), 0);
  EXPECT_EQ(encoder.dimension(), 24);
  const TrainResult second = train(
      static_recipe({"architecture={}", "tokenizer=", "model=" + path("first/model"), "heads=[]",
                     "stages.0.objectives.1.head="
                     "similar"}),
      path("second"), false, false, silent_events());
  EXPECT_EQ(second.reports.back().model, "zero-shot");
  EXPECT_EQ(second.reports.back().metric("spearman"), first.reports.front().metric("spearman"));
}

TEST_F(StaticTrainingTest, BothEnginesHaveTheSameCurve) {
  for (const std::string rows : {"all", "used"}) {
    for (const std::string engine : {"fused", "torch"}) {
      train(static_recipe({"engine=" + engine, "stages.0.selection.keep=last",
                           "stages.0.optimizer.rows=" + rows, "stages.1.optimizer.rows=" + rows}),
            path(engine + rows), false, false, silent_events());
    }
    const std::vector<double> fused = losses("fused" + rows), plain = losses("torch" + rows);
    ASSERT_EQ(fused.size(), plain.size());
    ASSERT_GT(fused.size(), 10u);
    for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-4) << i;
  }
  EXPECT_NE(losses("fusedall"), losses("fusedused"));
}

// The plain loss, in the numbers that this processor is fastest in.
std::vector<std::string> fast_options() {
  std::vector<std::string> overrides = {"stages.0.optimizer.rows=used",
                                        "stages.1.optimizer.rows=used"};
  if (bfloat_kernels() != nullptr) overrides.emplace_back("compute=bf16");
  return overrides;
}

TEST_F(StaticTrainingTest, UsedRowsAndRoundedProductsResumeToTheSameBitsOnAnyNumberOfThreads) {
  const ConfigNode node = static_recipe(fast_options());
  const int threads = thread_count();
  set_thread_count(1);
  train(node, path("whole"), false, false, silent_events());
  set_thread_count(3);
  const std::string weights = "/model/0_StaticEmbedding/model.safetensors";
  for (const int stop_at : {5, 14}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole" + weights), bytes(name + weights));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
  set_thread_count(threads);
}

TEST_F(StaticTrainingTest, RoundedProductsHaveNearlyTheSameCurve) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: not on this processor";
  for (const std::string compute : {"fp32", "bf16"}) {
    train(static_recipe({"compute=" + compute, "stages.0.selection.keep=last"}), path(compute),
          false, false, silent_events());
  }
  const std::vector<double> exact = losses("fp32"), rounded = losses("bf16");
  ASSERT_EQ(exact.size(), rounded.size());
  EXPECT_NE(exact, rounded);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(exact[i], rounded[i], 0.02 * (1 + exact[i])) << i;
  }
}

TEST_F(StaticTrainingTest, NumbersToComputeInThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal({"compute=fp16"}), HasSubstr("compute"));
  EXPECT_THAT(refusal({"compute=tf32"}),
              AllOf(HasSubstr("compute: tf32"), HasSubstr("device: cuda")));
  EXPECT_THAT(refusal({"stages.0.optimizer.rows=some"}), HasSubstr("rows"));
  if (bfloat_kernels() == nullptr) {
    EXPECT_THAT(refusal({"compute=bf16"}), AllOf(HasSubstr("compute: bf16"), HasSubstr("AMX")));
  }
}

TEST_F(StaticTrainingTest, WhatNeedsAttentionIsRefused) {
  EXPECT_THAT(refusal({"heads.0.input=joint"}), AllOf(HasSubstr("similar"), HasSubstr("joint")));
  EXPECT_THAT(refusal({"attention_dropout=0.1"}), HasSubstr("attention_dropout"));
  EXPECT_THAT(refusal({"drop_head=0.1"}), HasSubstr("drop_head"));
  EXPECT_THAT(refusal({"architecture.layers=2"}), AllOf(HasSubstr("layers"), HasSubstr("static")));
  write("pretrain.yaml",
        "architecture: {family: static, hidden: 8}\ntokenizer: vocab.txt\ncorpus: text.txt\n"
        "steps: 1\n");
  write("text.txt", "a cat sat on a mat\n");
  try {
    pretrain(load_config(path("pretrain.yaml")), path("bad"), false, false, silent_events());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("masked words"));
  }
}

}  // namespace
}  // namespace simile
