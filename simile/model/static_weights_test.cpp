// SPDX-License-Identifier: Apache-2.0
// Static models on disk: our folders, sentence-transformers' and Model2Vec's.
#include "simile/model/static_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kTokenizer = R"({"normalizer":{"type":"BertNormalizer","lowercase":true},
  "model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4}}})";

class StaticWeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "simile_static_" + std::to_string(getpid()) + info->name();
    std::filesystem::create_directories(folder_);
    for (size_t i = 0; i < 20; ++i) table_.push_back(static_cast<float>(i) / 8 - 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write_file_atomic(path(name), bytes);
  }

  std::string weights(const std::vector<TensorView>& tensors) const {
    std::filesystem::create_directories(path("w"));
    write_safetensors(path("w/model.safetensors"), tensors);
    return path("w/model.safetensors");
  }

  ModelSettings settings() const {
    ModelSettings settings;
    settings.encoder = static_encoder_config(5, 4, "test");
    settings.pooling.modes.clear();
    settings.max_length = 40;
    return settings;
  }

  void save(const ModelSettings& settings, TensorType type = TensorType::kF32) {
    ModelToSave model;
    model.settings = settings;
    model.weights = table_.data();
    model.weight_type = type;
    model.tokenizer = {{"tokenizer.json", kTokenizer}};
    model.model_card = "# Static\n";
    save_model_folder(path("model"), model);
  }

  std::vector<float> state_of(const std::string& file, int32_t token) const {
    const auto encoder = open_static_encoder(file, read_static_config(file), silent_events());
    PackedBatch batch;
    batch.ids = {token};
    batch.offsets = {0, 1};
    std::vector<float> state(static_cast<size_t>(encoder->hidden_size()));
    (*encoder)(batch, state.data());
    return state;
  }

  std::string error_of(const std::string& file) const {
    try {
      const EncoderConfig config = read_static_config(file);
      open_static_encoder(file, config, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }

  std::string folder_;
  std::vector<float> table_;  // [5, 4]
};

// sentence-transformers reads that file as it is and removes its padding alone.
TEST_F(StaticWeightsTest, TruncationOfTokenizerJsonIsTheLimit) {
  save(settings());
  const auto open = [&](const std::string& truncation) {
    write("model/0_StaticEmbedding/tokenizer.json",
          "{\"truncation\":" + truncation + "," + std::string(kTokenizer).substr(1));
    std::filesystem::remove(path("model/checksums.json"));
    return open_model_folder(path("model"), silent_events());
  };
  EXPECT_EQ(open("null").settings.max_length, 40);
  const ModelFolder cut = open(R"({"direction":"Left","max_length":2,"strategy":"LongestFirst",)"
                               R"("stride":0})");
  EXPECT_EQ(cut.settings.max_length, 2);
  EXPECT_TRUE(load_tokenizer(cut).truncation().left);
  EXPECT_THAT(::simile::error_of(ErrorKind::kInput, [&] { open(R"({"direction":"Left"})"); }),
              HasSubstr("\"max_length\" is missing"));
}

TEST_F(StaticWeightsTest, ASavedFolderIsThatOfStaticEmbedding) {
  ModelSettings saved = settings();
  save(saved);
  const auto modules = nlohmann::json::parse(read_file(path("model/modules.json")));
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0]["type"], "sentence_transformers.models.StaticEmbedding");
  EXPECT_EQ(modules[0]["path"], "0_StaticEmbedding");
  EXPECT_EQ(modules[1]["type"], "sentence_transformers.models.Normalize");
  EXPECT_EQ(modules[1]["path"], "1_Normalize");
  EXPECT_TRUE(file_exists(path("model/0_StaticEmbedding/tokenizer.json")));
  EXPECT_FALSE(file_exists(path("model/config.json")));
  const auto source = open_weights(path("model/0_StaticEmbedding/model.safetensors"));
  ASSERT_EQ(source->tensors().size(), 1u);
  EXPECT_EQ(source->tensors()[0].name, "embedding.weight");

  const ModelFolder model = open_model_folder(path("model"), silent_events());
  EXPECT_TRUE(model.settings.encoder.variant.averaged);
  EXPECT_EQ(model.settings.encoder.vocabulary, 5);
  EXPECT_EQ(model.settings.embedding_size(), 4);
  EXPECT_EQ(model.settings.max_length, 40);
  EXPECT_TRUE(model.settings.pooling.modes.empty());
  EXPECT_TRUE(model.settings.normalize);
  std::vector<float> read(20);
  check_encoder_weights(model.weights_path, model.settings.encoder);
  read_encoder_weights(model.weights_path, model.settings.encoder, read.data(), silent_events());
  EXPECT_EQ(read, table_);

  saved.normalize = false;
  save(saved);
  EXPECT_FALSE(open_model_folder(path("model"), silent_events()).settings.normalize);
}

TEST_F(StaticWeightsTest, EveryPrecisionGivesTheRowsAsRounded) {
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kI8}) {
    save(settings(), type);
    std::vector<float> rounded = table_;
    round_encoder_weights(settings().encoder, type, rounded.data());
    const std::string file = path(std::string("model/0_StaticEmbedding/") + weight_file_name(type));
    for (int32_t token = 0; token < 5; ++token) {
      const std::vector<float> expected(rounded.begin() + 4 * token,
                                        rounded.begin() + 4 * token + 4);
      EXPECT_EQ(state_of(file, token), expected) << tensor_type_name(type);
    }
  }
}

TEST_F(StaticWeightsTest, Model2VecTablesAreReadWithTheirMappingAndWeights) {
  std::ifstream golden(SIMILE_SOURCE_DIR "/tests/golden/static.json");
  const nlohmann::json composed = nlohmann::json::parse(golden)["composed"];
  const auto embeddings = composed["embeddings"].get<std::vector<float>>();
  const auto factors = composed["weights"].get<std::vector<float>>();
  const auto mapping = composed["mapping"].get<std::vector<int64_t>>();
  const auto rows = composed["rows"].get<std::vector<float>>();
  const std::string file = weights({{"embeddings", {4, 3}, embeddings.data()},
                                    {"mapping", {5}, mapping.data(), TensorType::kI64, true},
                                    {"weights", {5}, factors.data()}});
  EXPECT_EQ(read_static_config(file).vocabulary, 5);
  for (int32_t token = 0; token < 5; ++token) {
    EXPECT_EQ(state_of(file, token),
              std::vector<float>(rows.begin() + 3 * token, rows.begin() + 3 * token + 3));
  }
}

TEST_F(StaticWeightsTest, Model2VecFoldersAreRead) {
  write("m/config.json", R"({"model_type": "model2vec", "normalize": true, "hidden_dim": 4})");
  write("m/tokenizer.json", kTokenizer);
  write_safetensors(path("m/model.safetensors"), {{"embeddings", {5, 4}, table_.data()}});
  ModelFolder model = open_model_folder(path("m"), silent_events());
  EXPECT_TRUE(model.settings.normalize);
  EXPECT_EQ(model.settings.encoder.model_type, "static");
  EXPECT_EQ(state_of(model.weights_path, 1),
            std::vector<float>(table_.begin() + 4, table_.begin() + 8));
  // With modules.json, as their newer ones have.
  write("m/modules.json", R"([{"idx": 0, "name": "0", "path": ".",
    "type": "sentence_transformers.models.StaticEmbedding"}])");
  model = open_model_folder(path("m"), silent_events());
  EXPECT_FALSE(model.settings.normalize);
  EXPECT_TRUE(model.settings.encoder.variant.averaged);
}

TEST_F(StaticWeightsTest, FilesThatAreNoTableAreNamed) {
  EXPECT_THAT(error_of(weights({{"word", {5, 4}, table_.data()}})),
              AllOf(HasSubstr("model.safetensors"), HasSubstr("embedding.weight")));
  EXPECT_THAT(error_of(weights({{"embedding.weight", {20}, table_.data()}})), HasSubstr("[20]"));
  const int64_t outside[] = {0, 5};
  EXPECT_THAT(error_of(weights({{"embeddings", {5, 4}, table_.data()},
                                {"mapping", {2}, outside, TensorType::kI64, true}})),
              AllOf(HasSubstr("token 1"), HasSubstr("row 5")));
  const float factors[] = {1, 2};
  EXPECT_THAT(error_of(weights({{"embeddings", {5, 4}, table_.data()}, {"weights", {2}, factors}})),
              HasSubstr("5 numbers"));
  const float infinite[] = {1, 2, std::numeric_limits<float>::infinity(), 1, 1};
  EXPECT_THAT(
      error_of(weights({{"embeddings", {5, 4}, table_.data()}, {"weights", {5}, infinite}})),
      HasSubstr("not finite"));
  write("model/modules.json", R"([{"idx": 0, "name": "0", "path": "",
    "type": "sentence_transformers.models.StaticEmbedding"}, {"idx": 1, "name": "1",
    "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  EXPECT_THROW(open_model_folder(path("model"), silent_events()), Error);
}

}  // namespace
}  // namespace simile
