// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/derive/convert.h"
#include "simile/derive/whiten.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

class WhitenModel : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "simile_whiten_" + std::to_string(getpid()) + info->name() + "/";
    make_folders(root_);
    const char* words[] = {"the", "a", "cat", "dog", "sat", "ran", "mat", "sun", "he", "red", "."};
    RandomStream stream(2, "texts");
    for (int i = 0; i < 150; ++i) {
      texts_.emplace_back();
      for (int j = 0; j < 7; ++j) texts_.back() += std::string(words[stream.below(11)]) + " ";
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + name; }
  WhiteningReport whiten(const std::string& model, const WhiteningOptions& options = {},
                         EventSink& events = silent_events()) const {
    return whiten_model(model, texts_, options, {}, path("white"), events);
  }
  Matrix<float> vectors(const std::string& model, bool normalize = true) const {
    EncodeOptions options;
    options.normalize = normalize;
    return SentenceEncoder::load(model, silent_events()).encode(texts_, options, silent_events());
  }

  std::string root_;
  std::vector<std::string> texts_;
};

TEST_F(WhitenModel, TheNewFolderGivesTheMappedVectorsAndPassesItsSelfTest) {
  WhiteningOptions options;
  options.dimensions = 10;
  options.center = true;
  const WhiteningReport report = whiten(kGolden, options);
  EXPECT_EQ(report.texts, 150);
  EXPECT_EQ(report.inputs, 32);
  EXPECT_EQ(report.outputs, 10);
  EXPECT_GT(report.largest_deviation, report.smallest_deviation);
  EXPECT_LT(std::abs(report.cosine_after), std::abs(report.cosine_before));
  const Matrix<float> before = vectors(kGolden, false);
  const Whitening whitening = fit_whitening(before, options);
  const Matrix<float> expected = ModuleChain({dense_module(whitening, 32)})(before);
  EXPECT_EQ(vectors(path("white"), false).values, expected.values);
  const SentenceEncoder encoder = SentenceEncoder::load(path("white"), silent_events());
  EXPECT_EQ(check_self_test(path("white"), encoder), 0.0);
  const ModelFolder folder = open_model_folder(path("white"), silent_events());
  ASSERT_EQ(folder.settings.modules.size(), 1u);
  EXPECT_EQ(folder.settings.modules[0].activation, "Identity");
  EXPECT_TRUE(folder.settings.modules[0].bias);
  EXPECT_EQ(folder.settings.normalize,
            open_model_folder(kGolden, silent_events()).settings.normalize);
  EXPECT_THAT(read_file(path("white/README.md")), HasSubstr("whitened (power 0.5) from 150 texts"));
  EXPECT_THAT(read_file(path("white/modules.json")), HasSubstr("2_Dense"));
}

TEST_F(WhitenModel, WeightsStayAsTheyWereStored) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kI8}) {
    convert_model(kGolden, path("stored"), type, silent_events());
    whiten(path("stored"));
    const std::string file = std::string("/") + weight_file_name(type);
    EXPECT_EQ(read_file(path("stored" + file)), read_file(path("white" + file)));
    EXPECT_EQ(read_file(path("stored/config.json")), read_file(path("white/config.json")));
  }
}

TEST_F(WhitenModel, OnlyTheDimensionsThatTheModelKeepsAreWhitened) {
  convert_model(kGolden, path("short"), TensorType::kF32, silent_events());
  write_file_atomic(path("short/config_sentence_transformers.json"), "{\"truncate_dim\": 8}");
  std::filesystem::remove(path("short/checksums.json"));
  const WhiteningReport report = whiten(path("short"));
  EXPECT_EQ(report.inputs, 8);
  EXPECT_EQ(report.outputs, 8);
  const ModelSettings settings = open_model_folder(path("white"), silent_events()).settings;
  EXPECT_EQ(settings.modules[0].inputs, 32);
  EXPECT_EQ(settings.dimensions, 0);
  const Matrix<float> before = vectors(path("short"), false);
  const Matrix<float> expected = ModuleChain({dense_module(fit_whitening(before, {}), 8)})(before);
  const Matrix<float> actual = vectors(path("white"), false);
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (size_t i = 0; i < actual.values.size(); ++i) {
    EXPECT_NEAR(actual.values[i], expected.values[i], 1e-5);
  }
}

TEST_F(WhitenModel, HeadsAreLeftOutWithAWarning) {
  ModelToSave model;
  const ModelFolder golden = open_model_folder(kGolden, silent_events());
  model.settings = golden.settings;
  model.settings.temperatures["bsc l2"] = 0.1;
  std::vector<float> flat(
      static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
  read_encoder_weights(golden.weights_path, model.settings.encoder, flat.data(), silent_events());
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(kGolden);
  HeadSettings head;
  head.name = "score";
  const std::vector<float> numbers(1000, 0.1f);
  model.heads = {{head, numbers.data()}};
  save_model_folder(path("model"), model);
  struct : EventSink {
    void warning(const std::string& message) override { text += message; }
    std::string text;
  } events;
  whiten(path("model"), {}, events);
  EXPECT_THAT(events.text, HasSubstr("task head"));
  const ModelFolder folder = open_model_folder(path("white"), silent_events());
  EXPECT_TRUE(folder.heads.empty());
  EXPECT_TRUE(folder.settings.temperatures.empty());
}

TEST_F(WhitenModel, WhatCannotBeDoneIsToldBeforeAnythingIsWritten) {
  texts_.resize(63);
  EXPECT_THROW(whiten(kGolden), Error);
  texts_.resize(64, "the cat");
  EXPECT_NO_THROW(whiten(kGolden));
  EXPECT_THROW(whiten_model(path("white"), texts_, {}, {}, path("white/"), silent_events()), Error);
  WhiteningOptions options;
  options.dimensions = 33;
  EXPECT_THROW(whiten_model(kGolden, texts_, options, {}, path("none"), silent_events()), Error);
  EXPECT_FALSE(folder_exists(path("none")));
}

}  // namespace
}  // namespace simile
