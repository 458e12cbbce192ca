// SPDX-License-Identifier: Apache-2.0
#include "simile/train/start_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "simile/model/encoder_reader.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/train/detail/run_test.h"

namespace simile {
namespace {

using StartModelTest = testing::RunTest;

TEST_F(StartModelTest, APoolerThatNobodyTrainsIsKept) {
  const std::string golden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  ModelToSave model;
  model.settings = open_model_folder(golden, silent_events()).settings;
  std::vector<float> flat(
      static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
  initialise_encoder_weights(model.settings.encoder, 9, flat.data());
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(golden);
  const float numbers[4] = {1, -2, 3, 4};
  model.other_tensors = {{"pooler.dense.weight", {2, 2}, numbers},
                         {"pooler.dense.bias", {2}, numbers},
                         {"cls.predictions.bias", {2}, numbers}};
  save_model_folder(path("model"), model);

  TrainOptions options;
  options.model = path("model");
  const StartModel start = load_start_model(options, silent_events());
  ModelWeights weights(start.settings, start.heads);
  weights.assign(start.weights);
  save_trained_model(path("trained"), options, start, weights, {}, {});
  const auto trained = open_weights(path("trained/model.safetensors"));
  const TensorInfo* matrix = trained->find("pooler.dense.weight");
  ASSERT_NE(matrix, nullptr);
  std::vector<float> read(4);
  trained->read_floats(*matrix, 0, 4, read.data());
  EXPECT_THAT(read, ::testing::ElementsAreArray(numbers));
  EXPECT_NE(trained->find("pooler.dense.bias"), nullptr);
  EXPECT_EQ(trained->find("cls.predictions.bias"), nullptr);
}

TEST_F(StartModelTest, ARecipesPoolingTakesThePlaceOfTheModels) {
  TrainOptions options;
  options.model = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  const StartModel own = load_start_model(options, silent_events());
  EXPECT_EQ(pooling_name(own.settings.pooling), "mean");
  options.pooling = "cls";
  const StartModel start = load_start_model(options, silent_events());
  EXPECT_EQ(pooling_name(start.settings.pooling), "cls");
  ModelWeights weights(start.settings, start.heads);
  weights.assign(start.weights);
  save_trained_model(path("trained"), options, start, weights, {}, {});
  EXPECT_EQ(pooling_name(open_model_folder(path("trained"), silent_events()).settings.pooling),
            "cls");
  options.pooling = "first";
  EXPECT_THAT([&] { load_start_model(options, silent_events()); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("cls")));
}

TEST_F(StartModelTest, TokensBeginWithTheVectorsOfAStaticModel) {
  TrainOptions table;
  table.tokenizer = path("vocab.txt");
  table.architecture.family = "static";
  table.architecture.hidden = 6;
  const StartModel taught = load_start_model(table, silent_events());
  ModelWeights weights(taught.settings, taught.heads);
  weights.assign(taught.weights);
  save_trained_model(path("static"), table, taught, weights, {}, {});

  TrainOptions options;
  options.tokenizer = path("vocab.txt");
  options.architecture.layers = 1;
  options.architecture.hidden = 4;
  options.architecture.heads = 2;
  const StartModel random = load_start_model(options, silent_events());
  options.architecture.embeddings = path("static");
  const StartModel start = load_start_model(options, silent_events());
  ASSERT_EQ(start.weights.size(), random.weights.size());
  const int64_t words = 45;
  double squares = 0;
  const float scale = start.weights[5 * 4] / taught.weights[5 * 6];  // of the first word
  for (size_t id = 5; id < words; ++id) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_FLOAT_EQ(start.weights[id * 4 + j], scale * taught.weights[id * 6 + j]);
      squares += start.weights[id * 4 + j] * start.weights[id * 4 + j];
    }
  }
  EXPECT_NEAR(std::sqrt(squares / (40 * 4)), 0.1, 1e-6);
  for (size_t i = 0; i < 5 * 4; ++i) EXPECT_EQ(start.weights[i], random.weights[i]);  // [PAD] ...
  for (size_t i = words * 4; i < start.weights.size(); ++i) {
    ASSERT_EQ(start.weights[i], random.weights[i]);
  }
  const auto message = [&] {
    try {
      load_start_model(options, silent_events());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  options.architecture.hidden = 8;
  EXPECT_THAT(message(), ::testing::HasSubstr("at least 8 numbers"));
  write("other.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nw0\n");
  options.tokenizer = path("other.txt");
  options.architecture.hidden = 4;
  EXPECT_THAT(message(), ::testing::HasSubstr("found 45 tokens and 6 numbers"));
}

EncoderConfig transformer(int64_t hidden, int64_t layers = 6) {
  EncoderConfig config;
  config.layers = layers;
  config.hidden = hidden;
  config.heads = 4;
  config.intermediate = 4 * hidden;
  config.vocabulary = 100;
  return config;
}

EncoderConfig table() { return static_encoder_config(100, 256, "test"); }

TEST(LearningRates, AreThoseOfTheKindOfModelWhereTheRecipeGivesNone) {
  struct Case {
    EncoderConfig config;
    bool is_random;
    std::string stage;          // options
    std::vector<double> rates;  // the stage's, of heads
  };
  const std::string head = "objectives: {head: class}";
  const std::vector<Case> cases = {
      {transformer(768), false, "{}", {2e-5, 0}},
      {transformer(1024), false, "{}", {2e-5, 0}},
      {transformer(384), false, "{}", {5e-5, 0}},
      {transformer(512), false, "{}", {5e-5, 0}},
      {transformer(384, 5), false, "{}", {5e-5, 0}},
      {transformer(384, 4), false, "{}", {1e-4, 0}},
      {transformer(513, 4), false, "{}", {2e-5, 0}},
      {transformer(256), false, "{}", {2e-4, 0}},
      {transformer(256), true, "{}", {1e-3, 0}},
      {transformer(768), true, "{}", {1e-3, 0}},
      {table(), false, "{}", {5e-3, 0}},
      {table(), true, "{}", {5e-3, 0}},
      {transformer(384), false, "{" + head + "}", {5e-5, 1e-3}},
      {transformer(384), false, "{frozen: true, " + head + "}", {1e-3, 0}},
      // What the recipe gives stays; beside it 0 is the same rate.
      {transformer(384), false, "{learning_rate: 7e-6}", {7e-6, 0}},
      {transformer(384), false, "{learning_rate: 7e-6, " + head + "}", {7e-6, 0}},
      {transformer(384), false, "{head_learning_rate: 7e-6, " + head + "}", {5e-5, 7e-6}},
  };
  for (const Case& c : cases) {
    TrainOptions options;
    options.model = c.is_random ? "" : "model";
    options.stages.resize(1);
    StageOptions& stage = options.stages[0];
    read_options(parse_config(c.stage, "stage.yaml"), stage);
    testing::Listener events;
    const bool is_given = stage.learning_rate > 0;
    choose_learning_rates(c.config, options, events);
    EXPECT_EQ(std::vector({stage.learning_rate, stage.head_learning_rate}), c.rates)
        << c.config.model_type << " of " << c.config.layers << " times " << c.config.hidden << ", "
        << c.stage;
    EXPECT_EQ(events.told.empty(), is_given);
    if (is_given) continue;
    EXPECT_THAT(events.told[0],
                ::testing::HasSubstr(fmt::format("stage 'train': learning_rate {:g}", c.rates[0])));
  }
}

TEST(KeepNoRandomHeads, OnlyTheFirstStageThatTrainsOneKeepsNoStart) {
  struct Case {
    std::vector<std::string> new_heads;
    std::string stages;
    std::vector<bool> may_keep;
  };
  const std::string a = "objectives: {data: d.tsv, loss: softmax_classification, head: a}";
  const std::string none = "objectives: {data: d.tsv, loss: mnrl}";
  const std::vector<Case> cases = {
      {{"a"}, "[{" + a + "}]", {false}},
      {{"b"}, "[{" + a + "}]", {true}},  // the model has this head already
      {{}, "[{" + a + "}]", {true}},
      {{"a"}, "[{" + none + "}]", {true}},
      {{"a"}, "[{" + a + ", selection: {keep: last}}]", {false}},
      {{"a"}, "[{name: x, " + a + "}, {name: y, " + a + "}]", {false, true}},
      {{"a"}, "[{name: x, " + a + "}, {name: y, from: start, " + a + "}]", {false, false}},
      {{"a"},
       "[{name: x, " + none + "}, {name: y, " + a + "}, {name: z, from: x, " + a + "}]",
       {true, false, false}},
  };
  for (const Case& c : cases) {
    TrainOptions options;
    read_options(parse_config("stages: " + c.stages, "recipe.yaml"), options);
    keep_no_random_heads(c.new_heads, options);
    std::vector<bool> may_keep;
    for (const StageOptions& stage : options.stages) {
      may_keep.push_back(stage.selection.may_keep_start());
    }
    EXPECT_EQ(may_keep, c.may_keep) << c.stages;
  }
}

constexpr const char* kWithoutRate = R"(
name: rateless
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
stages: {objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 4}, epochs: 2}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: []
)";

// The rate chosen is kept with the run, which an interruption does not change by a bit, and the
// same rate given by hand trains the same weights.
TEST_F(StartModelTest, TheLearningRateChosenIsKeptWithTheRun) {
  write("recipe.yaml", kWithoutRate);
  const auto recipe = [&](const std::vector<std::string>& overrides) {
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  };
  testing::Listener listener;
  train(recipe({}), path("whole"), false, false, listener);
  EXPECT_THAT(listener.told, ::testing::Contains(::testing::HasSubstr("learning_rate 0.001")));
  TrainOptions kept;
  read_options(without_environment(load_config(path("whole/run.json"))), kept);
  EXPECT_EQ(kept.stages[0].learning_rate, 1e-3);

  train(recipe({"stages.0.learning_rate=1e-3"}), path("by-hand"), false, false, silent_events());
  train(recipe({"stages.0.learning_rate=1e-4"}), path("slower"), false, false, silent_events());
  const auto expect_equal_runs = [&](const std::string& a, const std::string& b, bool are_equal) {
    for (const std::string file : {"/metrics.jsonl", "/model/model.safetensors"}) {
      EXPECT_EQ(bytes(a + file) == bytes(b + file), are_equal) << a << " " << b << file;
    }
  };
  expect_equal_runs("whole", "by-hand", true);
  expect_equal_runs("whole", "slower", false);

  // A recipe without a rate continues with the rate of the run's start, whichever it was.
  const auto stop_and_resume = [&](const std::string& run, const std::string& given) {
    testing::Interrupter interrupter(7);
    EXPECT_THROW(train(recipe({given}), path(run), false, false, interrupter), Error);
    train(recipe({}), path(run), true, false, silent_events());
  };
  stop_and_resume("stopped", "stages.0.learning_rate=0");
  expect_equal_runs("stopped", "whole", true);
  stop_and_resume("stopped-slower", "stages.0.learning_rate=1e-4");
  expect_equal_runs("stopped-slower", "slower", true);
}

}  // namespace
}  // namespace simile
