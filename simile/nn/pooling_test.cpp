// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/pooling.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace simile {
namespace {

const std::vector<int32_t> kOffsets = {0, 2, 2, 5};

torch::Tensor hidden() {
  return torch::tensor({{1.0, -2.0}, {3.0, 4.0}, {5.0, 0.0}, {-1.0, 6.0}, {2.0, 3.0}},
                       torch::kFloat64);
}

TEST(PoolTokens, TakesMeanFirstOrMaximumAndZerosForAnEmptySequence) {
  const auto expect = [](PoolingMode mode, const torch::Tensor& want) {
    EXPECT_TRUE(torch::allclose(pool_tokens(hidden(), kOffsets, mode), want))
        << pooling_mode_name(mode);
  };
  expect(PoolingMode::kMean, torch::tensor({{2.0, 1.0}, {0.0, 0.0}, {2.0, 3.0}}, torch::kFloat64));
  expect(PoolingMode::kCls, torch::tensor({{1.0, -2.0}, {0.0, 0.0}, {5.0, 0.0}}, torch::kFloat64));
  expect(PoolingMode::kMax, torch::tensor({{3.0, 4.0}, {0.0, 0.0}, {5.0, 6.0}}, torch::kFloat64));
}

TEST(PoolTokens, GradientsAgreeWithFiniteDifferences) {
  for (const PoolingMode mode : {PoolingMode::kMean, PoolingMode::kCls, PoolingMode::kMax}) {
    const torch::Tensor weights =
        torch::tensor({{0.3, -1.0}, {2.0, 2.0}, {1.5, 0.7}}, torch::kFloat64);
    const auto value = [&](const torch::Tensor& x) {
      return (pool_tokens(x, kOffsets, mode) * weights).sum();
    };
    const torch::Tensor x = hidden().set_requires_grad(true);
    value(x).backward();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const torch::Tensor step = torch::zeros(x.numel(), torch::kFloat64);
      step[i] = 1e-6;
      const torch::Tensor difference =
          (value(hidden() + step.view_as(x)) - value(hidden() - step.view_as(x))) / 2e-6;
      EXPECT_NEAR(difference.item<double>(), x.grad().flatten()[i].item<double>(), 1e-6);
    }
  }
}

}  // namespace
}  // namespace simile
