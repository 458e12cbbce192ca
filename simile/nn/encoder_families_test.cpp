// SPDX-License-Identifier: Apache-2.0
// Each family's golden model in both engines.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>

#include "simile/model/detail/family_golden_test.h"
#include "simile/nn/detail/tensor_setup_test.h"
#include "simile/nn/engines.h"

namespace simile {
namespace {

class FamilyEncoderTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Golden, FamilyEncoderTest, testing::ValuesIn(FamilyGolden::names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

torch::Tensor tensor_of(std::vector<float> values, int64_t columns) {
  return torch::from_blob(values.data(), {static_cast<int64_t>(values.size()) / columns, columns})
      .clone();
}

TEST_P(FamilyEncoderTest, TorchInDoubleAgreesWithTheGoldenModelInValueAndEveryGradient) {
  const FamilyGolden golden(GetParam());
  const EncoderShape shape = golden.config.shape();
  const torch::Tensor weights =
      tensor_of(golden.read_weights(), 1).flatten().to(torch::kFloat64).set_requires_grad(true);
  const torch::Tensor coefficients = tensor_of(golden.floats("coefficients"), shape.hidden);
  const torch::Tensor hidden = encode_with_torch(shape, weights, golden.batch);
  EXPECT_LT(largest_difference(hidden, tensor_of(golden.floats("hidden"), shape.hidden)), 2e-6);
  (hidden * coefficients).sum().backward();
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    const torch::Tensor found = weights.grad().narrow(0, slot.offset, slot.size);
    const torch::Tensor expected = tensor_of(golden.gradient(slot.name), 1).flatten();
    EXPECT_LT(largest_difference(found, expected),
              1e-5 * std::max(1.0, expected.abs().max().item<double>()))
        << slot.name;
  }
}

TEST_P(FamilyEncoderTest, TheFusedEngineAgreesWithTorch) {
  const FamilyGolden golden(GetParam());
  const EncoderShape shape = golden.config.shape();
  const std::vector<float> flat = golden.read_weights();
  const auto node_owner = make_fused_encoder(shape);
  TrainableEncoder& node = *node_owner;
  node.from_host(flat.data());
  torch::manual_seed(2);
  const torch::Tensor shift = 0.1 * torch::randn({golden.batch.tokens(), shape.hidden});
  const torch::Tensor direction = torch::randn({golden.batch.tokens(), shape.hidden});

  const torch::Tensor shift_node = shift.clone().set_requires_grad(true);
  const torch::Tensor hidden = node.forward(golden.batch, {}, shift_node);
  (hidden * direction).sum().backward();

  const torch::Tensor weights =
      tensor_of(flat, 1).flatten().to(torch::kFloat64).set_requires_grad(true);
  const torch::Tensor shift_oracle = shift.to(torch::kFloat64).set_requires_grad(true);
  const torch::Tensor expected = encode_with_torch(shape, weights, golden.batch, {}, shift_oracle);
  (expected * direction.to(torch::kFloat64)).sum().backward();

  EXPECT_LT(largest_difference(hidden, expected), 2e-5);
  EXPECT_LT(largest_difference(shift_node.grad(), shift_oracle.grad()), 2e-4);
  const torch::Tensor& gradient = node.gradients();
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    const torch::Tensor want = weights.grad().narrow(0, slot.offset, slot.size);
    EXPECT_LT(largest_difference(gradient.narrow(0, slot.offset, slot.size), want),
              2e-4 * std::max(1.0, want.abs().max().item<double>()))
        << slot.name;
  }
}

}  // namespace
}  // namespace simile
