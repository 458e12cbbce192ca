// SPDX-License-Identifier: Apache-2.0
// Each family's golden model, read from its checkpoint: hidden states and gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/encoder_training.h"
#include "simile/model/detail/family_golden_test.h"
#include "simile/model/encoder_tensors.h"

namespace simile {
namespace {

using testing::HasSubstr;

class EncoderFamiliesTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Golden, EncoderFamiliesTest, testing::ValuesIn(FamilyGolden::names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

std::vector<float> infer(const EncoderConfig& config, const std::vector<float>& flat,
                         const PackedBatch& batch) {
  std::vector<float> hidden(static_cast<size_t>(batch.tokens() * config.hidden));
  EncoderForward(config.shape(), encoder_weights(config.shape(), flat.data()))(batch,
                                                                               hidden.data());
  return hidden;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << " " << i;
  }
}

TEST_P(EncoderFamiliesTest, HiddenStatesOfEveryLayerAgree) {
  const FamilyGolden golden(GetParam());
  expect_near(infer(golden.config, golden.read_weights(), golden.batch), golden.floats("hidden"),
              1e-5, "all layers");
  for (int64_t layers = 1; layers < golden.config.layers; ++layers) {
    FamilyGolden cut(GetParam());
    cut.config.layers = layers;
    const std::string name = "hidden." + std::to_string(layers);
    expect_near(infer(cut.config, cut.read_weights(), golden.batch), golden.floats(name), 1e-5,
                name);
  }
}

TEST_P(EncoderFamiliesTest, WeightsReadLayerByLayerGiveTheSameBits) {
  const FamilyGolden golden(GetParam());
  const LoadedEncoder loaded(golden.weights_path(), golden.config, silent_events());
  const EncoderForward forward(loaded.shape(), loaded.weights(), loaded.layer_reader());
  std::vector<float> hidden(static_cast<size_t>(golden.batch.tokens() * golden.config.hidden));
  forward(golden.batch, hidden.data());
  EXPECT_EQ(hidden, infer(golden.config, golden.read_weights(), golden.batch));
}

TEST_P(EncoderFamiliesTest, ASequenceAloneHasTheBitsItHasInABatchForAnyThreads) {
  const FamilyGolden golden(GetParam());
  const std::vector<float> flat = golden.read_weights();
  const int64_t H = golden.config.hidden;
  set_thread_count(2);
  const std::vector<float> together = infer(golden.config, flat, golden.batch);
  set_thread_count(1);
  for (int64_t i = 0; i < golden.batch.size(); ++i) {
    const int64_t begin = golden.batch.offsets[i], end = golden.batch.offsets[i + 1];
    PackedBatch one;
    one.ids.assign(golden.batch.ids.begin() + begin, golden.batch.ids.begin() + end);
    if (!golden.batch.type_ids.empty()) {
      one.type_ids.assign(golden.batch.type_ids.begin() + begin,
                          golden.batch.type_ids.begin() + end);
    }
    one.offsets = {0, static_cast<int32_t>(end - begin)};
    EXPECT_EQ(infer(golden.config, flat, one),
              std::vector<float>(together.begin() + begin * H, together.begin() + end * H));
  }
  set_thread_count(2);
}

struct Step {
  std::vector<float> hidden, gradients, embedding;
};

// One training step without dropout under the golden loss; flat weights and gradients.
Step train(const FamilyGolden& golden, const std::vector<float>& flat) {
  const EncoderShape shape = golden.config.shape();
  const std::vector<float> coefficients = golden.floats("coefficients");
  Step step{std::vector<float>(coefficients.size()), std::vector<float>(flat.size()),
            std::vector<float>(coefficients.size())};
  const EncoderWeights weights = encoder_weights(shape, flat.data());
  EncoderTape tape;
  encoder_forward_training(shape, weights, golden.batch, {}, nullptr, tape, step.hidden.data());
  const EncoderGradients gradients = encoder_gradients(shape, step.gradients.data());
  encoder_backward(shape, weights, golden.batch, {}, tape, coefficients.data(), &gradients,
                   step.embedding.data());
  return step;
}

TEST_P(EncoderFamiliesTest, TrainingHasTheBitsOfInferenceAndGradientsAgree) {
  const FamilyGolden golden(GetParam());
  const std::vector<float> flat = golden.read_weights();
  const Step step = train(golden, flat);
  EXPECT_EQ(step.hidden, infer(golden.config, flat, golden.batch));
  for (const ParameterSlot& slot : encoder_layout(golden.config.shape())) {
    const std::vector<float> expected = golden.gradient(slot.name);
    const auto begin = step.gradients.begin() + slot.offset;
    expect_near(std::vector<float>(begin, begin + slot.size), expected, 1e-4, slot.name);
    const bool any = std::any_of(expected.begin(), expected.end(), [](float g) { return g != 0; });
    EXPECT_TRUE(any) << slot.name << " has no gradient to compare";
  }
  expect_near(step.embedding, golden.floats("gradient.embedding"), 1e-4, "embedding");
}

TEST_P(EncoderFamiliesTest, GradientsHaveTheSameBitsForAnyThreads) {
  const FamilyGolden golden(GetParam());
  const std::vector<float> flat = golden.read_weights();
  set_thread_count(1);
  const Step one = train(golden, flat);
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    const Step more = train(golden, flat);
    EXPECT_EQ(one.gradients, more.gradients);
    EXPECT_EQ(one.embedding, more.embedding);
  }
  set_thread_count(2);
}

TEST_P(EncoderFamiliesTest, SavedModelsHaveTheSameBitsAndKeepTheirConfig) {
  const FamilyGolden golden(GetParam());
  const std::vector<float> flat = golden.read_weights();
  const std::string path = testing::TempDir() + "simile_family_" + std::to_string(getpid());
  write_encoder_weights(path, golden.config, flat.data());
  EncoderConfig again =
      parse_encoder_config(encoder_config_to_json(golden.config), "saved config.json");
  std::vector<float> read(flat.size());
  read_encoder_weights(path, again, read.data(), silent_events());
  EXPECT_EQ(read, flat);
  EXPECT_EQ(infer(again, read, golden.batch), infer(golden.config, flat, golden.batch));
  // The file has the family's own names, those it was read from but for the prefix.
  const SafetensorsFile saved(path), original(golden.weights_path());
  ASSERT_EQ(saved.tensors().size(), original.tensors().size());
  const std::string prefix = find_encoder_family(golden.config.model_type)->prefix;
  for (const TensorInfo& tensor : saved.tensors()) {
    EXPECT_TRUE(original.find(tensor.name) || original.find(prefix + tensor.name)) << tensor.name;
  }
  std::filesystem::remove(path);
}

TEST_P(EncoderFamiliesTest, SequencesBeyondThePositionsAreRefused) {
  const FamilyGolden golden(GetParam());
  const EncoderShape shape = golden.config.shape();
  PackedBatch batch;
  batch.ids.assign(static_cast<size_t>(shape.longest_sequence()), 1);
  batch.offsets = {0, static_cast<int32_t>(batch.ids.size())};
  const std::vector<float> flat = golden.read_weights();
  EXPECT_NO_THROW(infer(golden.config, flat, batch));
  batch.ids.push_back(1);
  ++batch.offsets.back();
  EXPECT_THROW(infer(golden.config, flat, batch), Error);
}

// XLM-R and CamemBERT compute what RoBERTa does, under the same names.
TEST(EncoderFamilies, RobertasKinAreReadAlike) {
  const FamilyGolden golden("roberta");
  for (const std::string kind : {"xlm-roberta", "camembert"}) {
    std::string document = golden.config.document;
    document.replace(document.find("\"roberta\""), 9, "\"" + kind + "\"");
    const EncoderConfig config = parse_encoder_config(document, "config.json");
    EXPECT_EQ(config.model_type, kind);
    std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
    read_encoder_weights(golden.weights_path(), config, flat.data(), silent_events());
    expect_near(infer(config, flat, golden.batch), golden.floats("hidden"), 1e-5, kind);
  }
}

// Wrong or missing tensors of each family are reported under the family's names and keys.
TEST(EncoderFamilies, WrongShapesNameTensorAndKey) {
  struct Case {
    const char* family;
    std::function<void(EncoderConfig&)> change;
    const char* message;
  };
  const Case cases[] = {
      {"distilbert", [](EncoderConfig& c) { c.intermediate = 41; },
       "'transformer.layer.0.ffn.lin1.weight' must have shape [41, 24] (config.json: hidden_dim "
       "41, dim 24)"},
      {"distilbert", [](EncoderConfig& c) { c.layers = 3; },
       "'transformer.layer.2.attention.q_lin.weight' of shape [24, 24]"},
      {"mpnet", [](EncoderConfig& c) { c.variant.relative_buckets = 30; },
       "config.json: relative_attention_num_buckets 30, num_attention_heads 3"},
      {"electra", [](EncoderConfig& c) { c.variant.embedding = 13; },
       "vocab_size 40, embedding_size 13"},
      {"albert", [](EncoderConfig& c) { c.hidden = 27; },
       "'encoder.embedding_hidden_mapping_in.weight' must have shape [27, 10] (config.json: "
       "hidden_size 27, embedding_size 10)"},
      {"modernbert", [](EncoderConfig& c) { c.intermediate = 21; },
       "mlp.Wi.weight' must have shape [42, 32] (config.json: 2 * intermediate_size 42"},
      {"modernbert", [](EncoderConfig& c) { c.variant.norm_bias = true; },
       "'embeddings.norm.bias' of shape [32]"},
      {"nomic", [](EncoderConfig& c) { c.vocabulary = 40; }, "vocab_size 40, n_embd 16"},
      {"nomic", [](EncoderConfig& c) { c.intermediate = 512; }, "mlp.fc12.weight' must have shape"},
  };
  for (const Case& c : cases) {
    FamilyGolden golden(c.family);
    c.change(golden.config);
    try {
      golden.read_weights();
      ADD_FAILURE() << "accepted " << c.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(c.message));
      EXPECT_THAT(error.what(), HasSubstr("model.safetensors"));
    }
  }
}

}  // namespace
}  // namespace simile
