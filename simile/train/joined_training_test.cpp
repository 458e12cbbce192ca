// SPDX-License-Identifier: Apache-2.0
// Whole runs of a joined encoder.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/encoder_reader.h"
#include "simile/train/detail/joined_test.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/placement.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Interrupter;

class JoinedTrainingTest : public testing::RunTest {
 protected:
  JoinedTrainingTest() {
    testing::save_joined(folder_);
    std::string longer = bytes("train.tsv");
    for (const char* row : {"w1 w2 w3 w4 w5 w6\tw1 w2 w3 w4 w5 w7\t4\n",
                            "w9 w8 w7 w6 w5 w4\tw30 w31 w32 w33 w34\t0\n"}) {
      longer += row;
    }
    write("train.tsv", longer);
  }

  // Losses, heads, orders, stages and regularisers on all parts.
  ConfigNode joined_recipe(const std::vector<std::string>& overrides = {}) const {
    write("joined.yaml", R"(
name: small
model: ./joined
hidden_dropout: 0.1
attention_dropout: 0.1
drop_head: 0.2
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
    epochs: 1
    learning_rate: 1e-3
    static_learning_rate: 1e-2
    selection: {metric: dev.spearman}
  - name: scores
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
    epochs: 1
    learning_rate: 1e-3
    siar: {weight: 1, noise: 1, step_size: 1, radius: 2, bregman: 0.5}
    selection: {keep: last, metric: dev.spearman, every_steps: 2}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [untrained]
)");
    ConfigNode node = load_config(join_path(folder_, "joined.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  std::vector<double> curve(const std::string& run, const std::string& name) const {
    std::vector<double> values;
    std::istringstream lines(bytes(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (!json.contains("evaluation")) values.push_back(json.value(name, 0.0));
    }
    return values;
  }

  // The weights of each part of a joined folder.
  std::vector<std::vector<float>> parts(const std::string& name) const {
    const ModelFolder folder = open_model_folder(path(name), silent_events());
    const EncoderShape shape = folder.settings.encoder.shape();
    std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(shape)));
    read_encoder_weights(folder.weights_path, folder.settings.encoder, flat.data(),
                         silent_events());
    const std::vector<int64_t> offsets = part_offsets(shape);
    return {{flat.begin(), flat.begin() + offsets[1]}, {flat.begin() + offsets[1], flat.end()}};
  }

  std::string refusal(const std::vector<std::string>& overrides) const {
    try {
      train(joined_recipe(overrides), path("bad"), false, true, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe) << error.what();
      return error.what();
    }
    return "no error";
  }
};

TEST_F(JoinedTrainingTest, ResumesToTheSameBits) {
  const ConfigNode node = joined_recipe();
  train(node, path("whole"), false, false, silent_events());
  const std::string inner = "/model/0_Joined/1/model.safetensors";
  const std::string table = "/model/0_Joined/0/0_StaticEmbedding/model.safetensors";
  for (const int stop_at : {5, 14}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole" + inner), bytes(name + inner));
    EXPECT_EQ(bytes("whole" + table), bytes(name + table));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(JoinedTrainingTest, TheSavedModelGivesItsVectorsAndTrainsOn) {
  const TrainResult first = train(joined_recipe(), path("first"), false, false, silent_events());
  const SentenceEncoder encoder = SentenceEncoder::load(path("first/model"), silent_events());
  EXPECT_EQ(check_self_test(path("first/model"), encoder).value_or(1), 0);
  EXPECT_EQ(encoder.dimension(), 40);
  EXPECT_EQ(encoder.settings().encoder.parts[1].weight, 0.7);
  EXPECT_EQ(encoder.settings().encoder.parts[1].max_length, 5);
  const auto before = parts("joined"), after = parts("first/model");
  for (size_t i = 0; i < 2; ++i) EXPECT_NE(before[i], after[i]);
  const int32_t cls = encoder.tokenizer().special_tokens().cls;
  for (int j = 0; j < 24; ++j) EXPECT_EQ(after[0][static_cast<size_t>(24 * cls + j)], 0);
  const TrainResult second =
      train(joined_recipe({"model=" + path("first/model"), "heads=[]", "precision=fp16"}),
            path("second"), false, false, silent_events());
  EXPECT_EQ(second.reports.back().model, "zero-shot");
  EXPECT_EQ(second.reports.back().metric("spearman"), first.reports.front().metric("spearman"));
  EXPECT_LT(check_self_test(path("second/model"),
                            SentenceEncoder::load(path("second/model"), silent_events()))
                .value_or(1),
            1e-6);
}

TEST_F(JoinedTrainingTest, BothEnginesHaveTheSameCurve) {
  for (const std::string engine : {"fused", "torch"}) {
    train(joined_recipe({"engine=" + engine, "stages.0.selection.keep=last"}), path(engine), false,
          false, silent_events());
  }
  for (const std::string name : {"loss", "siar", "gradient_norm"}) {
    const std::vector<double> fused = curve("fused", name), plain = curve("torch", name);
    ASSERT_EQ(fused.size(), plain.size());
    ASSERT_GT(fused.size(), 10u);
    for (size_t i = 0; i < fused.size(); ++i) {
      EXPECT_NEAR(fused[i], plain[i], 1e-3 * std::max(1.0, fused[i])) << name << " " << i;
    }
  }
}

TEST_F(JoinedTrainingTest, StaticPartsHaveALearningRateOfTheirOwn) {
  const std::vector<std::string> only_pairs = {"stages.0.learning_rate=1e-9",
                                               "stages.0.static_learning_rate=1e-2",
                                               "stages.0.selection.keep=last"};
  for (const std::string engine : {"fused", "torch"}) {
    ConfigNode node = joined_recipe(only_pairs);
    apply_override(node, "engine=" + engine);
    for (auto& [key, value] : node.members) {
      if (key == "stages") value.items.resize(1);
    }
    train(node, path(engine), false, false, silent_events());
    const auto before = parts("joined"), after = parts(engine + "/model");
    const auto largest = [&](size_t part) {
      float most = 0;
      for (size_t i = 0; i < before[part].size(); ++i) {
        most = std::max(most, std::abs(before[part][i] - after[part][i]));
      }
      return most;
    };
    EXPECT_GT(largest(0), 1e-3f);
    EXPECT_LT(largest(1), 1e-6f);
  }
  const EncoderShape shape =
      open_model_folder(path("joined"), silent_events()).settings.encoder.shape();
  const std::vector<ParameterSlot> slots = trained_slots(shape, 50);
  EXPECT_EQ(slots[0].learning_rate_factor, 50);
  for (size_t i = 1; i < slots.size(); ++i) EXPECT_EQ(slots[i].learning_rate_factor, 1);
}

TEST_F(JoinedTrainingTest, WhatAJoinedModelCannotDoIsRefused) {
  EXPECT_THAT(refusal({"heads.0.input=joint"}),
              AllOf(HasSubstr("similar"), HasSubstr("joined encoder cannot")));
  EXPECT_THAT(refusal({"model=" + path("bert")}),
              AllOf(HasSubstr("static_learning_rate"), HasSubstr("set `learning_rate`")));
  write("pretrain.yaml", "model: ./joined\ncorpus: text.txt\nsteps: 1\n");
  write("text.txt", "w1 w2 w3\n");
  try {
    pretrain(load_config(path("pretrain.yaml")), path("bad"), false, false, silent_events());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("join it afterwards"));
  }
}

}  // namespace
}  // namespace simile
