// SPDX-License-Identifier: Apache-2.0
// Model folders that cannot be used: each is an error that names file, what and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kBias = "encoder.layer.0.attention.self.query.bias";
constexpr const char* kWord = "embeddings.word_embeddings.weight";

class BadFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "simile_bad_" + std::to_string(getpid()) + info->name();
    restore();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void restore() {
    fs::remove_all(folder_);
    fs::copy(kGolden, folder_);
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void put(const std::string& name, const std::string& bytes) const {
    write_file_atomic(path(name), bytes);
  }

  // Text `from` in a file becomes `to`.
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string bytes = read_file(path(name));
    const size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    put(name, bytes.replace(at, from.size(), to));
  }

  // Rewrites the weights with the tensor `name` changed.
  void change(const std::string& name, const std::function<void(TensorView&)>& edit) const {
    std::vector<TensorView> tensors;
    {
      const SafetensorsFile file(kGolden + "/" + kWeights);
      for (const TensorInfo& tensor : file.tensors()) {
        tensors.push_back({tensor.name, tensor.shape, file.bytes(tensor).data(), tensor.type});
        if (tensor.name == name) edit(tensors.back());
      }
      write_safetensors(path(kWeights), tensors);
    }
  }

  // The message of opening the folder and encoding a text; empty when both work.
  std::string error() const {
    return error_of(ErrorKind::kInput, [&] {
      SentenceEncoder::load(folder_, silent_events()).encode({"the cat"}, {}, silent_events());
    });
  }

  std::string folder_;
};

TEST_F(BadFolder, EachIsRefusedWithItsReason) {
  static const std::vector<float> broken(4096, std::numeric_limits<float>::quiet_NaN());
  struct Case {
    std::function<void()> damage;
    const char* message;
  };
  const Case cases[] = {
      {[&] { fs::remove(path(kWeights)); }, "neither model.safetensors nor pytorch_model.bin"},
      {[&] { put(kWeights, ""); }, "not a safetensors file: 0 bytes"},
      {[&] { put(kWeights, read_file(path(kWeights)).substr(0, 20000)); }, "truncated"},
      {[&] { change(kBias, [](TensorView& t) { t.name = "other"; }); },
       "tensor 'encoder.layer.0.attention.self.query.bias' of shape [32] (config.json: hidden_size "
       "32) is missing"},
      {[&] { change(kBias, [](TensorView& t) { t.shape = {16}; }); },
       "must have shape [32] (config.json: hidden_size 32), but it has [16]"},
      {[&] { change(kBias, [](TensorView& t) {
               t.shape = {1, 32};
             }); }, "but it has [1, 32]"},
      {[&] { change(kBias, [](TensorView& t) { t.type = TensorType::kI32; }); },
       "has type I32, expected F32, F16 or BF16"},
      {[&] { change(kBias, [](TensorView& t) { t.type = TensorType::kI8; }); }, "has type I8"},
      {[&] { change(kBias, [](TensorView& t) { t.values = broken.data(); }); },
       "'encoder.layer.0.attention.self.query.bias' holds a number that is not finite"},
      {[&] { replace("config.json", "\"hidden_size\": 32", "\"hidden_size\": 64"); },
       "config.json and weights belong to different models"},
      {[&] { replace("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"); },
       "'encoder.layer.2.attention.self.query.weight'"},
      {[&] { replace("config.json", "\"hidden_size\"", "\"hidden\""); },
       "\"hidden_size\" is missing"},
      {[&] { put("config.json", "[]"); }, "config.json"},
      {[&] {
         put("modules.json", R"([{"type":"sentence_transformers.Transformer","path":"../../x"}])");
       },
       "\"path\" is \"../../x\", which leads out of the model folder"},
      {[&] {
         put("modules.json",
             R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Pooling","path":"p"}])");
       },
       "p/config.json"},
      {[&] { fs::rename(path(kWeights), path("pytorch_model.bin")); },
       "the weights of a model (safetensors)"},
      {[&] {
         fs::remove(path(kWeights));
         put("model.safetensors.index.json", R"({"weight_map":{"a":"gone.safetensors"}})");
       },
       "'gone.safetensors', which is missing"},
      {[&] { fs::remove(path("vocab.txt")); }, "neither tokenizer.json nor vocab.txt"},
      {[&] { put("vocab.txt", read_file(path("vocab.txt")) + "onemore\nandmore\n"); },
       "they are of different models"},
  };
  for (const Case& c : cases) {
    restore();
    ASSERT_EQ(error(), "");
    c.damage();
    EXPECT_THAT(error(), HasSubstr(c.message));
  }
}

TEST_F(BadFolder, AWordEmbeddingOfAnotherSizeIsRefused) {
  change(kWord, [](TensorView& t) { t.shape = {t.shape[0] * 2, t.shape[1] / 2}; });
  EXPECT_THAT(error(), HasSubstr("vocab_size"));
}

TEST_F(BadFolder, DamageOfAnyByteOfTheSmallFilesIsAnErrorOrAModel) {
  for (const char* name : {"config.json", "vocab.txt"}) {
    restore();
    const std::string whole = read_file(path(name));
    for (size_t i = 0; i < whole.size(); i += 7) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ 0x15);
      put(name, bytes);
      EXPECT_NO_THROW(error()) << name << " byte " << i;
    }
  }
}

TEST(BadFolderSlow, ATruncatedDownloadTellsBothSizes) {
  const std::string fixtures = SIMILE_SOURCE_DIR "/../shared/fixtures/";
  const std::string tokenizer =
      SIMILE_SOURCE_DIR "/../shared/tokenizers/bert-base-uncased-MiniLM-L6";
  if (!folder_exists(fixtures) || !folder_exists(tokenizer)) {
    GTEST_SKIP() << "skipped: no ../shared";
  }
  const std::string folder = testing::TempDir() + "simile_truncated_" + std::to_string(getpid());
  fs::remove_all(folder);
  fs::copy(tokenizer, folder, fs::copy_options::recursive);
  fs::copy_file(fixtures + "all-MiniLM-L6-v2-TRUNCATED.safetensors", folder + "/" + kWeights);
  try {
    SentenceEncoder::load(folder, silent_events());
    ADD_FAILURE() << "loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the header promises 90868376 bytes, the file has 851968"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace simile
