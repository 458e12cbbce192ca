// SPDX-License-Identifier: Apache-2.0
// Whole runs with either engine: the same curves, and what only one of them can do is refused.
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Interrupter;

class EnginesTest : public testing::RunTest {
 protected:
  // Stages that use much of the engines; no choice of the best weights, which could differ if two
  // are equally good.
  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
attention_dropout: 0.1
drop_head: 0.2
heads: {name: similar, kind: mlp, input: pair, output: probability, layers: 2, width: 8, dropout: 0.2}
stages:
  - name: first
    objectives:
      - data: {path: train.tsv, score_scale: 5}
        loss: {name: combo, mu: 0.5, temperature: {value: 0.1, trainable: true}}
        order: {name: neighbours, group_size: 4, neighbours: 20}
        batch_size: 8
        chunk_tokens: 30
      - {data: {path: train.tsv, score_scale: 5}, loss: bce, head: similar, batch_size: 16}
    epochs: 1
    learning_rate: 1e-3
    head_learning_rate: 5e-3
    selection: {keep: last, metric: dev.spearman}
  - name: second
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: bce, head: similar, batch_size: 16}
    epochs: 1
    learning_rate: 1e-3
    accumulation: 2
    optimizer: {name: adam}
    siar: {weight: 1, noise: 1, step_size: 1, radius: 2, bregman: 0.5}
    selection: {keep: last, metric: dev.spearman, every_steps: 2}
  - name: frozen
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: bce, head: similar, batch_size: 16}
    frozen: true
    epochs: 1
    learning_rate: 1e-3
    selection: {keep: last, metric: dev.spearman}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [bm25, untrained]
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  // The numbers of a run's metrics.jsonl called `name`, of steps.
  std::vector<double> curve(const std::string& run, const std::string& name) const {
    std::vector<double> values;
    std::istringstream lines(bytes(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (!json.contains("evaluation")) values.push_back(json.value(name, 0.0));
    }
    return values;
  }

  void expect_equal_curves(const std::string& name, double tolerance) const {
    const std::vector<double> fused = curve("fused", name), plain = curve("torch", name);
    ASSERT_EQ(fused.size(), plain.size());
    for (size_t i = 0; i < fused.size(); ++i) {
      EXPECT_NEAR(plain[i], fused[i], tolerance * std::max(1.0, std::abs(fused[i])))
          << name << " of step " << i + 1;
    }
  }

  // Fifty steps of recipes/faq.yaml from simile-mini-3.
  void train_shipped(const std::string& setting, const std::string& run) const {
    ConfigNode node = load_recipe(SIMILE_SOURCE_DIR "/recipes/faq.yaml", {});
    const std::vector<std::string> smaller = {setting,
                                              "stages.0.steps=50",
                                              "stages.0.objectives.0.batch_size=4",
                                              "max_length=24",
                                              "stages.0.selection={}",
                                              "stages.0.selection.every_steps=50",
                                              "evaluations=[]",
                                              "tests=[]",
                                              "baselines=[]"};
    for (const std::string& assignment : smaller) apply_override(node, assignment);
    train(node, path(run), false, false, silent_events());
  }

  std::string error_of(const std::vector<std::string>& overrides) const {
    try {
      train(recipe(overrides), path("bad"), false, true, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe) << error.what();
      return error.what();
    }
    return "no error";
  }
};

TEST_F(EnginesTest, HaveTheSameCurvesWithHeadsChunksSmoothingAndFrozenStages) {
  for (const std::string engine : {"fused", "torch"}) {
    train(recipe({"engine=" + engine}), path(engine), false, false, silent_events());
  }
  EXPECT_GT(curve("fused", "loss").size(), 15u);
  expect_equal_curves("loss", 1e-4);
  expect_equal_curves("gradient_norm", 1e-3);
  expect_equal_curves("siar", 1e-3);
  expect_equal_curves("temperature", 1e-5);
  const std::string model = path("torch/model");
  const SentenceEncoder encoder = SentenceEncoder::load(model, silent_events());
  EXPECT_EQ(check_self_test(model, encoder).value_or(1), 0);
}

TEST_F(EnginesTest, ARunOfTheTorchEngineResumesToTheSameBits) {
  const ConfigNode node = recipe({"engine=torch"});
  train(node, path("whole"), false, false, silent_events());
  for (const int stop_at : {1, 7, 14, 16, 19}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

// Its torch engine uses the system's BLAS: the reference one takes half a minute.
using EnginesSlow = EnginesTest;

TEST_F(EnginesSlow, TheShippedRecipeHasTheSameCurveForFiftySteps) {
  for (const std::string engine : {"fused", "torch"}) train_shipped("engine=" + engine, engine);
  EXPECT_EQ(curve("torch", "loss").size(), 50u);
  expect_equal_curves("loss", 1e-4);
}

TEST_F(EnginesTest, ADeviceHasTheCurvesOfTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no CUDA device";
  train_shipped("engine=fused", "fused");
  train_shipped("device=cuda", "torch");
  EXPECT_EQ(curve("torch", "loss").size(), 50u);
  expect_equal_curves("loss", 1e-4);
  train(recipe({"engine=fused"}), path("fused"), false, true, silent_events());
  train(recipe({"device=cuda"}), path("torch"), false, true, silent_events());
  for (const std::string name : {"loss", "gradient_norm", "siar"}) expect_equal_curves(name, 1e-3);
}

// libtorch's memory on the CPU, while it lives, as that of a small device: never more than `bytes`
// at a time.
class SmallMemory final : public c10::Allocator {
 public:
  explicit SmallMemory(size_t bytes) : bytes_(bytes), all_(c10::GetCPUAllocator()) {
    c10::SetCPUAllocator(this, kPriority);
  }
  ~SmallMemory() override { c10::SetCPUAllocator(all_, kPriority); }

#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(size_t bytes) override { return take(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return take(bytes); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return all_->raw_deleter(); }

 private:
  c10::DataPtr take(size_t bytes) const {
    if (bytes > bytes_) throw c10::OutOfMemoryError({__func__, __FILE__, 1}, "too much");
    return all_->allocate(bytes);
  }

  static constexpr uint8_t kPriority = 200;
  size_t bytes_;
  c10::Allocator* all_;
};

// Warnings about memory.
class MemoryWarnings : public EventSink {
 public:
  void warning(const std::string& message) override {
    if (message.find("memory") != std::string::npos) told.push_back(message);
  }
  std::vector<std::string> told;
};

TEST_F(EnginesTest, ABatchThatADeviceCannotHoldIsEncodedInPiecesWithTheSameGradient) {
  write("many.tsv", pairs(0, 400));  // 200 pairs of 8 tokens a batch
  write("large.yaml", R"(
name: large
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 64, positions: 16}
tokenizer: vocab.txt
hidden_dropout: 0.1
stages:
  objectives: {data: {path: many.tsv, score_scale: 5}, loss: mse, batch_size: 200}
  epochs: 2
  learning_rate: 1e-3
  selection: {keep: last, metric: dev.spearman}
evaluations: {name: dev, task: sts, data: dev.tsv}
)");
  const auto run = [&](const std::string& engine) {
    ConfigNode node = load_config(path("large.yaml"));
    apply_override(node, "engine=" + engine);
    MemoryWarnings warnings;
    train(node, path(engine), false, true, warnings);
    return warnings.told;
  };
  EXPECT_TRUE(run("fused").empty());
  {
    const SmallMemory memory(400'000);
    EXPECT_THAT(run("torch"), ::testing::ElementsAre(AllOf(HasSubstr("a batch of 1600 tokens"),
                                                           HasSubstr("chunk_tokens: 512"))));
  }
  EXPECT_EQ(curve("torch", "loss").size(), 4u);
  expect_equal_curves("loss", 1e-4);
  expect_equal_curves("gradient_norm", 1e-3);
  const SmallMemory memory(10'000);
  try {
    run("torch");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("too much"), HasSubstr("smaller batch_size")));
  }
}

TEST_F(EnginesTest, TheTorchEngineInBfloat16HasNearlyTheSameCurve) {
  for (const std::string compute : {"fp32", "bf16"}) {
    ConfigNode node = recipe({"engine=torch"});
    apply_override(node, "compute=" + compute);
    train(node, path(compute), false, false, silent_events());
  }
  const std::vector<double> exact = curve("fp32", "loss"), rounded = curve("bf16", "loss");
  ASSERT_EQ(rounded.size(), exact.size());
  EXPECT_NE(rounded, exact);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(rounded[i], exact[i], 0.05 * (1 + std::abs(exact[i]))) << "step " << i + 1;
  }
}

TEST_F(EnginesTest, ProductsInBfloat16HaveNearlyTheSameCurveForFiftySteps) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: no bfloat16 on this processor";
  for (const std::string compute : {"fp32", "bf16"}) train_shipped("compute=" + compute, compute);
  for (const std::string name : {"loss", "gradient_norm"}) {
    const std::vector<double> exact = curve("fp32", name), rounded = curve("bf16", name);
    ASSERT_EQ(exact.size(), 50u);
    ASSERT_EQ(rounded.size(), exact.size());
    EXPECT_NE(rounded, exact);
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(rounded[i], exact[i], 0.03 * (1 + exact[i])) << name << " of step " << i + 1;
    }
  }
}

TEST_F(EnginesTest, ARunInBfloat16ResumesToTheSameBitsOnAnyNumberOfThreads) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: no bfloat16 on this processor";
  const ConfigNode node = recipe({"compute=bf16"});
  const int threads = thread_count();
  set_thread_count(1);
  train(node, path("whole"), false, false, silent_events());
  for (const int stop_at : {7, 16}) {
    set_thread_count(stop_at % 2 + 2);
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
  set_thread_count(threads);
}

TEST_F(EnginesTest, RoundingIsRefusedWhereItIsNotComputed) {
  const std::string no_data = "stages.0.objectives.0.data.path=nowhere.tsv";
  EXPECT_THAT(error_of({no_data, "compute=tf32"}),
              AllOf(HasSubstr("compute: tf32"), HasSubstr("device: cuda")));
  if (bfloat_kernels() != nullptr) return;
  EXPECT_THAT(error_of({no_data, "compute=bf16"}),
              AllOf(HasSubstr("compute: bf16"), HasSubstr("AMX"), HasSubstr("fp32")));
}

TEST_F(EnginesTest, ADeviceThatIsNotThereIsToldBeforeDataIsRead) {
  const std::string no_data = "stages.0.objectives.0.data.path=nowhere.tsv";
  EXPECT_THAT(error_of({no_data, "engine=fused", "device=cuda"}),
              AllOf(HasSubstr("device: cuda"), HasSubstr("fused"), HasSubstr("on the CPU")));
  EXPECT_THAT(error_of({no_data, "engine=torch", "device=gpu"}),
              AllOf(HasSubstr("device: gpu"), HasSubstr("expected cpu, cuda")));
  EXPECT_THAT(error_of({no_data, "engine=torch", "device=cuda:x"}), HasSubstr("expected cpu"));
  EXPECT_THAT(error_of({no_data, "engine=jax"}), HasSubstr("engine"));
  const std::string missing = torch::cuda::is_available() ? "cuda:999" : "cuda";
  EXPECT_THAT(
      error_of({no_data, "device=" + missing}),
      AllOf(HasSubstr("device: " + missing), HasSubstr("GPU"), HasSubstr("set `device: c")));
}

}  // namespace
}  // namespace simile
