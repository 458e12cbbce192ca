// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/detail/family_golden_test.h"
#include "simile/model/encoder_reader.h"
#include "simile/nn/detail/tensor_setup_test.h"
#include "simile/nn/engines.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::Tensor;

Tensor states_of(const Encoder& encoder, const PackedBatch& batch) {
  const Tensor hidden = torch::full({encoder.states(batch), encoder.hidden_size()}, 7.0f);
  encoder(batch, hidden.data_ptr<float>());
  return hidden;
}

Tensor random_floats(const EncoderShape& shape) {
  const Tensor flat = torch::empty({encoder_parameter_count(shape)});
  RandomStream stream(4, "weights");
  float* const numbers = flat.data_ptr<float>();
  for (int64_t i = 0; i < flat.numel(); ++i) numbers[i] = static_cast<float>(0.2 * stream.normal());
  return flat;
}

void expect_as_on_the_cpu(const EncoderShape& shape, const Tensor& weights,
                          const PackedBatch& batch, const torch::Device& device = torch::kCPU) {
  const auto kernels = make_encoder(shape, weights.data_ptr<float>());
  const Tensor expected = states_of(*kernels, batch);
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  const auto plain = make_device_encoder(shape, weights.to(device));
  EXPECT_EQ(plain->states(batch), kernels->states(batch));
  EXPECT_EQ(plain->hidden_size(), kernels->hidden_size());
  EXPECT_EQ(plain->vocabulary(), kernels->vocabulary());
  EXPECT_EQ(plain->longest_sequence(), kernels->longest_sequence());
  EXPECT_LT(largest_difference(states_of(*plain, batch), expected), 1e-5 * scale);
  const auto rounded = make_device_encoder(shape, weights.to(device), ProductType::kBfloat);
  const Tensor near = states_of(*rounded, batch);
  EXPECT_LT((near - expected).norm().item<double>(), 0.02 * expected.norm().item<double>());
}

void expect_every_family_as_on_the_cpu(const torch::Device& device) {
  for (const std::string& name : FamilyGolden::names()) {
    SCOPED_TRACE(name);
    const FamilyGolden golden(name);
    const std::vector<float> weights = golden.read_weights();
    expect_as_on_the_cpu(golden.config.shape(), torch::tensor(weights), golden.batch, device);
  }
}

TEST(DeviceEncoder, AgreesWithTheKernelsForEveryFamily) {
  expect_every_family_as_on_the_cpu(torch::kCPU);
}

TEST(DeviceEncoder, AgreesWithThemOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no CUDA device";
  expect_every_family_as_on_the_cpu(torch::kCUDA);
}

EncoderShape table_shape() {
  EncoderShape shape;
  shape.averaged = true;
  shape.saturation = 0.5f;
  shape.hidden = 8;
  shape.vocabulary = 20;
  shape.positions = 64;
  return shape;
}

TEST(DeviceEncoder, AgreesForTablesAndJoinedEncoders) {
  EncoderShape tower;
  tower.layers = 2;
  tower.hidden = 16;
  tower.heads = 2;
  tower.intermediate = 32;
  tower.vocabulary = 20;
  tower.positions = 64;
  EncoderPart table_part, tower_part;
  table_part.shape = table_shape();
  table_part.longest = tower_part.longest = 64;
  tower_part.shape = tower;
  tower_part.pooling = {PoolingMode::kMean};
  tower_part.weight = 0.5f;
  const PackedBatch batch{{2, 7, 9, 3, 3, 19, 1, 0}, {}, {0, 3, 4, 8}};
  for (const EncoderShape& shape : {table_shape(), joined_shape({table_part, tower_part})}) {
    expect_as_on_the_cpu(shape, random_floats(shape), batch);
  }
}

TEST(DeviceEncoder, RefusesBytesAndBatchesThatDoNotFit) {
  const EncoderShape shape = table_shape();
  const Tensor weights = random_floats(shape);
  EXPECT_THROW(make_device_encoder(shape, weights, ProductType::kByte), Error);
  const FamilyGolden golden("bert");
  const auto encoder =
      make_device_encoder(golden.config.shape(), torch::tensor(golden.read_weights()));
  PackedBatch batch = golden.batch;
  batch.ids[1] = static_cast<int32_t>(encoder->vocabulary());
  std::vector<float> hidden(static_cast<size_t>(encoder->states(batch) * encoder->hidden_size()));
  EXPECT_THROW((*encoder)(batch, hidden.data()), Error);
}

TEST(DeviceMemory, TellsWhatToChangeAndLeavesOtherErrorsAlone) {
  const auto fail = [] {
    throw c10::OutOfMemoryError({__func__, __FILE__, 1}, "tried to allocate 2 GiB\nand more");
  };
  try {
    within_device_memory("set less", fail);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tried to allocate 2 GiB; set less"),
                                    ::testing::Not(HasSubstr("and more"))));
  }
  EXPECT_THROW(within_device_memory("", [] { throw std::out_of_range("x"); }), std::out_of_range);
  EXPECT_EQ(within_device_memory("", [] { return 3; }), 3);
}

enum class JoinedEngine { kFused, kTorch };

std::unique_ptr<TrainableEncoder> make_part(JoinedEngine engine, const EncoderShape& shape,
                                            const EncoderMemory& memory) {
  if (engine == JoinedEngine::kTorch) return make_torch_encoder(shape, memory);
  return make_fused_encoder(shape, memory);
}

// A table and a transformer that sees at most five tokens.
EncoderShape joined_parts() {
  EncoderShape table;
  table.averaged = true;
  table.vocabulary = 50;
  table.hidden = 24;
  table.positions = 100;
  return joined_shape(
      {{table, {}, 1.0f, 100, 1}, {small_shape(2, 32, 4, 48), {PoolingMode::kMean}, 0.5f, 5, 1}});
}

// Rows 2 and 3 of the table, of special tokens, are zero.
std::vector<float> joined_weights() {
  std::vector<float> weights = random_parameters(joined_parts(), 0.3);
  std::fill_n(weights.begin() + 2 * 24, 2 * 24, 0.0f);
  return weights;
}

PackedBatch joined_batch() {
  PackedBatch batch;
  batch.ids = {2, 10, 11, 12, 13, 14, 3, 2, 3, 2, 20, 21, 3, 2, 10, 3};
  batch.offsets = {0, 7, 9, 13, 16};
  return batch;
}

EncoderDropout joined_dropout(float p) {
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = p;
  dropout.parts = {dropout, dropout};
  dropout.parts[0].hidden = 2 * p;
  dropout.key = 8;
  dropout.step = 3;
  return dropout;
}

std::unique_ptr<TrainableEncoder> make_joined(JoinedEngine engine) {
  const auto make = [engine](const EncoderShape& shape, const EncoderMemory& memory) {
    return make_part(engine, shape, memory);
  };
  auto encoder = make_joined_encoder(joined_parts(), torch::kCPU, make);
  encoder->from_host(joined_weights().data());
  return encoder;
}

struct JoinedPass {
  torch::Tensor states, gradients, shift_gradient;
};

JoinedPass pass_joined(JoinedEngine engine, float dropout, WeightGradients kind,
                       bool is_shifted = true) {
  const auto encoder = make_joined(engine);
  torch::Tensor shift;
  if (is_shifted) {
    shift = torch::linspace(-0.5, 0.5, 16 * 32).reshape({16, 32}).requires_grad_(true);
  }
  const torch::Tensor states =
      encoder->forward(joined_batch(), joined_dropout(dropout), shift, kind);
  const torch::Tensor upstream =
      torch::arange(4 * states.size(1)).reshape({4, -1}).remainder(7) - 3.0f;
  (states * upstream).sum().backward();
  return {states.detach(), encoder->gradients().clone(),
          is_shifted ? shift.grad() : torch::Tensor()};
}

TEST(JoinedEngine, TellsOfLayersWhoseGradientsAreWhole) {
  const auto encoder = make_joined(JoinedEngine::kFused);
  const auto backward = [&](WeightGradients kind) {
    torch::Tensor shift = torch::zeros({16, 32}).requires_grad_(true);
    encoder->forward(joined_batch(), joined_dropout(0.1f), shift, kind).sum().backward();
  };
  std::vector<std::pair<int64_t, int64_t>> told, layers;
  std::vector<torch::Tensor> then;
  encoder->watch_gradients([&](int64_t begin, int64_t end) {
    told.emplace_back(begin, end);
    then.push_back(encoder->gradients().narrow(0, begin, end - begin).clone());
  });
  backward(WeightGradients::kSkip);
  EXPECT_TRUE(told.empty());
  backward(WeightGradients::kAdd);
  for (const ParameterSlot& slot : encoder_layout(joined_parts())) {
    if (slot.layer < 0) continue;
    if (slot.layer == static_cast<int64_t>(layers.size())) {
      layers.emplace_back(slot.offset, slot.offset);
    }
    layers.back().second = slot.offset + slot.size;
  }
  ASSERT_EQ(layers.size(), 2u);
  std::reverse(layers.begin(), layers.end());
  EXPECT_EQ(told, layers);
  for (size_t i = 0; i < then.size(); ++i) {
    const auto [begin, end] = told[i];
    EXPECT_GT(then[i].abs().max().item<float>(), 0);
    EXPECT_TRUE(torch::equal(then[i], encoder->gradients().narrow(0, begin, end - begin)));
  }
  encoder->watch_gradients({});
  backward(WeightGradients::kAdd);
  EXPECT_EQ(told.size(), 2u);
}

TEST(JoinedEngine, StatesAndGradientsAreThoseOfTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/joined.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const auto floats = [&](const char* name) { return golden[name].get<std::vector<float>>(); };
  const std::string bert = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert/";
  const EncoderConfig config = read_encoder_config(bert + "config.json");
  EncoderShape table;
  table.averaged = true;
  table.vocabulary = config.vocabulary;
  table.hidden = golden["H"];
  table.positions = 100;
  const EncoderShape shape = joined_shape(
      {{table, {}, golden["weights"][0], 100, 1},
       {config.shape(), {PoolingMode::kMean}, golden["weights"][1], golden["longest"], 1}});
  std::vector<float> weights = floats("table");
  const int64_t inner = static_cast<int64_t>(weights.size());
  weights.resize(static_cast<size_t>(encoder_parameter_count(shape)));
  read_encoder_weights(bert + "model.safetensors", config, weights.data() + inner, silent_events());
  PackedBatch batch;
  batch.offsets = {0};
  for (const auto& sequence : golden["sequences"]) {
    for (const int32_t id : sequence) batch.ids.push_back(id);
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  const auto as_tensor = [](const std::vector<float>& values) { return torch::tensor(values); };
  for (const JoinedEngine engine : {JoinedEngine::kFused, JoinedEngine::kTorch}) {
    const auto encoder_owner = make_joined_encoder(
        shape, torch::kCPU, [engine](const EncoderShape& part, const EncoderMemory& memory) {
          return make_part(engine, part, memory);
        });
    TrainableEncoder& encoder = *encoder_owner;
    encoder.from_host(weights.data());
    const torch::Tensor states = encoder.forward(batch, {});
    EXPECT_LT(largest_difference(states.flatten(), as_tensor(floats("states"))), 1e-5);
    (states.flatten() * as_tensor(floats("upstream"))).sum().backward();
    const torch::Tensor gradients = encoder.gradients();
    EXPECT_LT(
        largest_difference(gradients.narrow(0, 0, inner), as_tensor(floats("table_gradient"))),
        1e-5);
    const torch::Tensor words = as_tensor(floats("word_gradient"));
    EXPECT_LT(largest_difference(gradients.narrow(0, inner, words.numel()), words), 1e-4);
  }
}

TEST(JoinedEngine, BothEnginesGiveTheSameStatesAndGradients) {
  for (const float dropout : {0.0f, 0.2f}) {
    for (const WeightGradients kind : {WeightGradients::kAdd, WeightGradients::kSkip}) {
      const JoinedPass a = pass_joined(JoinedEngine::kFused, dropout, kind);
      const JoinedPass b = pass_joined(JoinedEngine::kTorch, dropout, kind);
      EXPECT_LT(largest_difference(a.states, b.states), 1e-5);
      EXPECT_LT(largest_difference(a.gradients, b.gradients), 1e-4);
      EXPECT_LT(largest_difference(a.shift_gradient, b.shift_gradient), 1e-5);
      EXPECT_EQ(a.gradients.abs().sum().item<float>() > 0, kind == WeightGradients::kAdd);
      // Tokens that the transformer does not see, and the rows of special tokens.
      EXPECT_EQ(a.shift_gradient.narrow(0, 4, 2).abs().sum().item<float>(), 0);
      EXPECT_EQ(a.gradients.narrow(0, 2 * 24, 2 * 24).abs().sum().item<float>(), 0);
    }
  }
}

TEST(JoinedEngine, WithoutDropoutTheStatesAreThoseOfInference) {
  for (const JoinedEngine engine : {JoinedEngine::kFused, JoinedEngine::kTorch}) {
    const auto encoder = make_joined(engine);
    const auto inference = encoder->inference();
    const PackedBatch batch = joined_batch();
    const torch::Tensor inferred =
        torch::empty({inference->states(batch), encoder->shape().hidden});
    (*inference)(batch, inferred.data_ptr<float>());
    const torch::Tensor states = encoder->forward(batch, {}).detach();
    EXPECT_LT(largest_difference(states, inferred), 1e-5);
    EXPECT_LT(largest_difference(encoder->forward_with(encoder->parameters(), batch, {}), states),
              1e-7);
    // A text of special tokens alone has no vector in the table.
    EXPECT_EQ(states[1].narrow(0, 0, 24).abs().sum().item<float>(), 0);
    const torch::Tensor lengths = states.narrow(1, 24, 32).norm(2, {1});
    EXPECT_LT(largest_difference(lengths, torch::full({4}, 0.5)), 1e-6);
  }
}

TEST(JoinedEngine, TheGradientIsThatOfTheVectors) {
  const std::vector<float> weights = joined_weights();
  const JoinedPass pass = pass_joined(JoinedEngine::kFused, 0.0f, WeightGradients::kAdd, false);
  const EncoderShape shape = joined_parts();
  const PackedBatch batch = joined_batch();
  const auto value = [&](const std::vector<float>& at) {
    std::vector<float> states(static_cast<size_t>(4 * shape.hidden));
    (*make_encoder(shape, at.data()))(batch, states.data());
    double sum = 0;
    for (int64_t i = 0; i < 4 * shape.hidden; ++i) sum += states[i] * (i % 7 - 3);
    return sum;
  };
  // A used row of the table, a word of the transformer and a bias.
  const int64_t inner = part_offsets(shape)[1];
  const int64_t last = static_cast<int64_t>(weights.size()) - 1;
  for (const int64_t i : {int64_t{10 * 24 + 5}, int64_t{21 * 24}, inner + 11 * 32 + 3, last}) {
    std::vector<float> up = weights, down = weights;
    up[i] += 1e-2f;
    down[i] -= 1e-2f;
    const double slope = (value(up) - value(down)) / (static_cast<double>(up[i]) - down[i]);
    EXPECT_NEAR(pass.gradients[i].item<double>(), slope, 2e-3 * std::max(1.0, std::abs(slope)))
        << i;
  }
}

TEST(JoinedEngine, DropoutOfAPartOfABatchIsThatOfTheBatch) {
  for (const JoinedEngine engine : {JoinedEngine::kFused, JoinedEngine::kTorch}) {
    const auto encoder = make_joined(engine);
    const EncoderDropout dropout = joined_dropout(0.2f);
    const torch::Tensor whole = encoder->forward(joined_batch(), dropout).detach();
    PackedBatch first, rest;
    first.ids = {2, 10, 11, 12, 13, 14, 3, 2, 3};
    first.offsets = {0, 7, 9};
    rest.ids = {2, 20, 21, 3, 2, 10, 3};
    rest.offsets = {0, 4, 7};
    EncoderDropout of_rest = dropout;
    of_rest.origin = origin_after(dropout.origin, joined_parts(), first);
    const torch::Tensor parts = torch::cat(
        {encoder->forward(first, dropout).detach(), encoder->forward(rest, of_rest).detach()});
    EXPECT_LT(largest_difference(parts, whole), 1e-6);
  }
}

TEST(JoinedEngine, FusedBitsDoNotDependOnTheThreads) {
  const int kept = thread_count();
  std::vector<JoinedPass> passes;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    passes.push_back(pass_joined(JoinedEngine::kFused, 0.2f, WeightGradients::kAdd));
  }
  set_thread_count(kept);
  for (size_t i = 1; i < passes.size(); ++i) {
    EXPECT_TRUE(torch::equal(passes[0].states, passes[i].states));
    EXPECT_TRUE(torch::equal(passes[0].gradients, passes[i].gradients));
    EXPECT_TRUE(torch::equal(passes[0].shift_gradient, passes[i].shift_gradient));
  }
}

}  // namespace
}  // namespace simile
