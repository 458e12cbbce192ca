// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/detail/family_golden_test.h"
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
  shape.hidden = 8;
  shape.vocabulary = 20;
  shape.positions = 64;
  return shape;
}

TEST(DeviceEncoder, AgreesForTables) {
  const PackedBatch batch{{2, 7, 9, 3, 3, 19, 1, 0}, {}, {0, 3, 4, 8}};
  expect_as_on_the_cpu(table_shape(), random_floats(table_shape()), batch);
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
  const auto mistake = [] { TORCH_CHECK(false, "shapes differ"); };
  EXPECT_THROW(within_device_memory("", mistake), c10::Error);
  try {
    translate_torch_errors("", mistake);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_STREQ(error.what(), "torch: shapes differ");
  }
}

TEST(FusedEncoder, TellsOfLayersWhoseGradientsAreWhole) {
  const EncoderShape shape = small_shape(2, 32, 4, 48);
  const auto encoder = make_fused_encoder(shape);
  encoder->from_host(random_parameters(shape, 0.3).data());
  const PackedBatch batch{{2, 10, 11, 3, 2, 3, 2, 20, 21, 3}, {}, {0, 4, 6, 10}};
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.1f;
  const auto backward = [&](WeightGradients kind) {
    const torch::Tensor shift = torch::zeros({10, 32}).requires_grad_(true);
    encoder->forward(batch, dropout, shift, kind).sum().backward();
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
  for (const ParameterSlot& slot : encoder_layout(shape)) {
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

}  // namespace
}  // namespace simile
