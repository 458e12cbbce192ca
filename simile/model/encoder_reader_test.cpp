// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/model/encoder_tensors.h"

namespace simile {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Warnings : public EventSink {
 public:
  void info(const std::string& message) override { told.push_back(message); }
  void warning(const std::string& message) override { messages.push_back(message); }
  std::vector<std::string> messages, told;
};

EncoderConfig tiny_config() {
  EncoderConfig config;
  config.layers = 2;
  config.hidden = 32;
  config.heads = 4;
  config.intermediate = 64;
  config.vocabulary = 50;
  config.positions = 16;
  return config;
}

std::vector<float> tiny_weights(const EncoderConfig& config) {
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
  initialise_encoder_weights(config, 7, flat.data());
  return flat;
}

struct TestFolder {
  TestFolder() { make_folders(path); }
  ~TestFolder() { std::filesystem::remove_all(path); }
  const std::string path =
      testing::TempDir() + "simile_encoder_reader_" + std::to_string(getpid()) + "/";
};

std::string test_path(const std::string& name) {
  static const TestFolder folder;
  return folder.path + name;
}

// The tensors of the tiny encoder under changed names, shuffled, with strangers among them.
void write_renamed(const std::string& path, const EncoderConfig& config, const float* flat,
                   const std::string& prefix, bool legacy,
                   const std::vector<std::string>& strangers) {
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    std::string name = slot.name;
    const auto swap = [&name](const std::string& from, const std::string& to) {
      const size_t at = name.find(from);
      if (at != std::string::npos) name.replace(at, from.size(), to);
    };
    if (legacy) swap("LayerNorm.weight", "LayerNorm.gamma");
    if (legacy) swap("LayerNorm.bias", "LayerNorm.beta");
    tensors.insert(tensors.begin(), {prefix + name, slot.shape, flat + slot.offset});
  }
  for (const std::string& name : strangers) tensors.push_back({name, {1}, flat});
  write_safetensors(path, tensors);
}

TEST(EncoderReader, WeightsSurviveWritingAndReading) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> flat = tiny_weights(config);
  const std::string path = test_path("plain.safetensors");
  write_encoder_weights(path, config, flat.data());
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    std::vector<float> read(flat.size());
    read_encoder_weights(path, config, read.data(), silent_events());
    EXPECT_EQ(read, flat);
  }
}

TEST(EncoderReader, LoadedEncoderHasTheSameNumbers) {
  const EncoderConfig config = tiny_config();
  std::vector<float> flat = tiny_weights(config);
  for (const TensorType type : {TensorType::kF32, TensorType::kF16}) {
    if (type == TensorType::kF16) round_to_halves(flat.data(), static_cast<int64_t>(flat.size()));
    const EncoderWeights expected = encoder_weights(config.shape(), flat.data());
    const std::string path = test_path("loaded.safetensors");
    write_encoder_weights(path, config, flat.data(), type);
    const LoadedEncoder encoder(path, config, silent_events());
    const EncoderWeights& found = encoder.weights();
    const auto expect_equal = [](const float* a, const float* b, int64_t count) {
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(a[i], b[i]) << i;
    };
    if (type == TensorType::kF32) {
      expect_equal(expected.word, found.word, 50 * 32);
      EXPECT_EQ(found.half_word, nullptr);
    } else {
      std::vector<float> word(50 * 32);
      halves_to_floats(found.half_word, 50 * 32, word.data());
      expect_equal(expected.word, word.data(), 50 * 32);
      EXPECT_EQ(found.word, nullptr);
    }
    expect_equal(expected.position, found.position, 16 * 32);
    expect_equal(expected.norm_bias, found.norm_bias, 32);
    const LayerReader read_layer = encoder.layer_reader();
    for (const size_t i : {0u, 1u}) {
      const LayerPointers<const float> layer = read_layer(static_cast<int64_t>(i));
      const LayerPointers<const float>& same = expected.layers[i];
      EXPECT_EQ(found.layers[i].qkv_weight, nullptr);
      expect_equal(same.qkv_weight, layer.qkv_weight, 3 * 32 * 32);
      expect_equal(same.attention_weight, layer.attention_weight, 32 * 32);
      expect_equal(same.up_weight, layer.up_weight, 64 * 32);
      expect_equal(same.down_weight, layer.down_weight, 32 * 64);
      for (const LayerPointers<const float>& other : {layer, found.layers[i]}) {
        expect_equal(same.qkv_bias, other.qkv_bias, 3 * 32);
        expect_equal(same.attention_bias, other.attention_bias, 32);
        expect_equal(same.attention_norm_weight, other.attention_norm_weight, 32);
        expect_equal(same.up_bias, other.up_bias, 64);
        expect_equal(same.down_bias, other.down_bias, 32);
        expect_equal(same.output_norm_bias, other.output_norm_bias, 32);
      }
    }
  }
}

TEST(EncoderReader, AMatrixThatIsNotFiniteIsAnErrorWhenItsLayerIsRead) {
  const EncoderConfig config = tiny_config();
  std::vector<float> flat = tiny_weights(config);
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    if (slot.name == "encoder.layer.1.output.dense.weight") flat[slot.offset + 9] = INFINITY;
  }
  const std::string path = test_path("infinite.safetensors");
  write_encoder_weights(path, config, flat.data());
  const LoadedEncoder encoder(path, config, silent_events());
  const LayerReader read_layer = encoder.layer_reader();
  EXPECT_NO_THROW(read_layer(0));
  try {
    read_layer(1);
    FAIL() << "accepted an infinite weight";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("encoder.layer.1.output.dense.weight"));
  }
}

TEST(EncoderReader, MatricesInBytesComeAsSuchForProductsOfBytes) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> flat = tiny_weights(config);
  const std::string path = test_path("bytes.safetensors");
  write_encoder_weights(path, config, flat.data(), TensorType::kI8);
  const LoadedEncoder encoder(path, config, silent_events());
  const LayerReader read_floats = encoder.layer_reader();
  const LayerReader read_bytes = encoder.layer_reader(ProductType::kByte);
  for (const int64_t i : {0, 1}) {
    const LayerMatrices floats = read_floats(i), bytes = read_bytes(i);
    EXPECT_EQ(floats.qkv.numbers, nullptr);
    EXPECT_EQ(bytes.qkv_weight, nullptr);
    EXPECT_EQ(floats.qkv_bias, bytes.qkv_bias);
    const auto expect_same = [](const float* w, const ByteMatrix& q, int64_t rows, int64_t k) {
      for (int64_t j = 0; j < rows * k; ++j) ASSERT_EQ(w[j], q.numbers[j] * q.scales[j / k]) << j;
    };
    expect_same(floats.qkv_weight, bytes.qkv, 3 * 32, 32);
    expect_same(floats.attention_weight, bytes.attention, 32, 32);
    expect_same(floats.up_weight, bytes.up, 64, 32);
    expect_same(floats.down_weight, bytes.down, 32, 64);
  }
  std::vector<float> grown(flat);
  read_encoder_weights(path, config, grown.data(), silent_events());
  const PackedBatch batch = {{3, 1, 4, 1, 5}, {}, {0, 2, 5}};
  std::vector<float> expected(5 * 32), found(expected);
  (*make_encoder(config.shape(), grown.data(), ProductType::kByte))(batch, expected.data());
  (*open_encoder(path, config, silent_events(), ProductType::kByte))(batch, found.data());
  EXPECT_EQ(found, expected);
}

TEST(EncoderReader, AWeightBeyondTheLargestHalfIsNotSavedAsOne) {
  const EncoderConfig config = tiny_config();
  std::vector<float> flat = tiny_weights(config);
  flat.back() = -70000.0f;
  const std::string path = test_path("large.safetensors");
  write_encoder_weights(path, config, flat.data());
  try {
    write_encoder_weights(path, config, flat.data(), TensorType::kF16);
    FAIL() << "saved an infinite weight";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), HasSubstr("encoder.layer.1.output.LayerNorm.bias"));
  }
}

TEST(EncoderReader, PrefixesLegacyNamesAndHeadsAreUnderstood) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> flat = tiny_weights(config);
  const std::string path = test_path("renamed.safetensors");
  for (const std::string prefix : {"", "bert.", "model.", "auto_model.", "0.auto_model."}) {
    write_renamed(
        path, config, flat.data(), prefix, true,
        {prefix + "embeddings.position_ids", "cls.predictions.bias", prefix + "pooler.dense.bias"});
    std::vector<float> read(flat.size());
    Warnings warnings;
    read_encoder_weights(path, config, read.data(), warnings);
    EXPECT_EQ(read, flat) << prefix;
    EXPECT_THAT(warnings.messages, IsEmpty());
    ASSERT_EQ(warnings.told.size(), 1u);
    EXPECT_THAT(warnings.told[0], HasSubstr("1 tensor(s) of heads"));
    EXPECT_THAT(warnings.told[0], HasSubstr("'cls.predictions.bias'"));
  }
}

TEST(EncoderReader, UnknownTensorsAreReported) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> flat = tiny_weights(config);
  const std::string path = test_path("strangers.safetensors");
  write_renamed(path, config, flat.data(), "", false,
                {"encoder.layer.2.output.dense.bias", "adapter.weight"});
  std::vector<float> read(flat.size());
  Warnings warnings;
  read_encoder_weights(path, config, read.data(), warnings);
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_THAT(warnings.messages[0], HasSubstr("'adapter.weight'"));
  EXPECT_THAT(warnings.messages[0], HasSubstr("'encoder.layer.2.output.dense.bias'"));
}

TEST(EncoderReader, AConfigOfAnotherModelIsNamedTensorByTensor) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> flat = tiny_weights(config);
  const std::string path = test_path("other.safetensors");
  write_encoder_weights(path, config, flat.data());
  struct Case {
    int64_t EncoderConfig::*member;
    int64_t value;
    const char* message;
  };
  const Case cases[] = {
      {&EncoderConfig::vocabulary, 51, "vocab_size 51"},
      {&EncoderConfig::positions, 20, "max_position_embeddings 20"},
      {&EncoderConfig::types, 1, "type_vocab_size 1"},
      {&EncoderConfig::intermediate, 128, "intermediate_size 128"},
      {&EncoderConfig::hidden, 64, "hidden_size 64"},
      {&EncoderConfig::layers, 3, "'encoder.layer.2.attention.self.query.weight'"},
  };
  for (const Case& c : cases) {
    EncoderConfig wrong = config;
    wrong.*c.member = c.value;
    std::vector<float> read(static_cast<size_t>(encoder_parameter_count(wrong.shape())));
    try {
      read_encoder_weights(path, wrong, read.data(), silent_events());
      ADD_FAILURE() << "accepted " << c.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(c.message));
    }
  }
}

TEST(EncoderReader, AWeightThatIsNotFiniteIsAnError) {
  const EncoderConfig config = tiny_config();
  std::vector<float> flat = tiny_weights(config);
  flat.back() = std::nanf("");
  const std::string path = test_path("nan.safetensors");
  write_encoder_weights(path, config, flat.data());
  try {
    LoadedEncoder encoder(path, config, silent_events());
    FAIL() << "accepted a NaN";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("encoder.layer.1.output.LayerNorm.bias"));
  }
}

TEST(Initialise, FollowsBertAndDependsOnTheSeedAlone) {
  const EncoderConfig config = tiny_config();
  const std::vector<float> a = tiny_weights(config), b = tiny_weights(config);
  EXPECT_EQ(a, b);
  const EncoderWeights weights = encoder_weights(config.shape(), a.data());
  double squares = 0;
  for (int i = 32; i < 50 * 32; ++i) squares += weights.word[i] * weights.word[i];
  EXPECT_NEAR(std::sqrt(squares / (49 * 32)), 0.02, 0.002);
  EXPECT_EQ(weights.word[0], 0.0f);
  EXPECT_EQ(weights.norm_weight[3], 1.0f);
  EXPECT_EQ(weights.layers[0].up_bias[5], 0.0f);
}

}  // namespace
}  // namespace simile
