// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/detail/family_golden_test.h"
#include "simile/nn/detail/tensor_setup_test.h"

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

}  // namespace

}  // namespace simile
