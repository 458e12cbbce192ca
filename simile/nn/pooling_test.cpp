// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>

#include "simile/core/file.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

using nlohmann::json;

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

TEST(PoolTokensGolden, EveryModeAndConcatenationMatchesTheIndependentImplementation) {
  const json golden = json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/modules.json"));
  const auto matrix = [](const json& rows) {
    std::vector<double> values;
    for (const json& row : rows) {
      for (const json& value : row) values.push_back(value);
    }
    return torch::tensor(values, torch::kFloat64).view({static_cast<int64_t>(rows.size()), -1});
  };
  std::vector<int32_t> offsets = {0};
  for (const json& length : golden["lengths"]) {
    offsets.push_back(offsets.back() + length.get<int32_t>());
  }
  int cases = 0;
  for (const json& item : golden["poolings"]) {
    if (item["left_out"] != 0) continue;  // inference alone leaves prompts out
    Pooling pooling;
    pooling.modes.clear();
    for (const json& mode : item["modes"]) pooling.modes.push_back(parse_pooling_mode(mode));
    EXPECT_TRUE(torch::allclose(pool_tokens(matrix(golden["hidden"]), offsets, pooling),
                                matrix(item["expected"]), 0, 1e-6))
        << item["modes"];
    ++cases;
  }
  EXPECT_GE(cases, 9);
}

TEST(PoolTokens, GradientsAgreeWithFiniteDifferences) {
  std::vector<Pooling> poolings(1);
  poolings[0].modes = {PoolingMode::kLastToken, PoolingMode::kMean, PoolingMode::kCls};
  for (const PoolingModeRow& row : pooling_modes()) poolings.emplace_back(row.mode);
  for (const Pooling& pooling : poolings) {
    const int64_t columns = 2 * static_cast<int64_t>(pooling.modes.size());
    const torch::Tensor weights =
        torch::linspace(-1.0, 2.0, 3 * columns, torch::kFloat64).view({3, columns});
    const auto value = [&](const torch::Tensor& x) {
      return (pool_tokens(x, kOffsets, pooling) * weights).sum();
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
