// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/pooling.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

namespace simile {
namespace {

// sum_t w_t h_t / divisor: the weights are the places 1, 2, ... for kWeightedMean, else 1.
torch::Tensor pool_sum(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                       PoolingMode mode) {
  const int64_t size = static_cast<int64_t>(offsets.size()) - 1;
  const bool is_weighted = mode == PoolingMode::kWeightedMean;
  std::vector<int64_t> sequence_of_token;
  std::vector<float> weights, divisors;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    sequence_of_token.insert(sequence_of_token.end(), static_cast<size_t>(length), i);
    for (int64_t t = 1; t <= length; ++t) weights.push_back(static_cast<float>(t));
    const auto count = static_cast<float>(is_weighted ? length * (length + 1) / 2 : length);
    divisors.push_back(
        std::max(mode == PoolingMode::kMeanSqrtLength ? std::sqrt(count) : count, 1.0f));
  }
  const auto column = [&](const std::vector<float>& values) {
    return torch::tensor(values).to(hidden.options()).unsqueeze(1);
  };
  const torch::Tensor index = torch::tensor(sequence_of_token, torch::kInt64).to(hidden.device());
  const torch::Tensor sums =
      torch::zeros({size, hidden.size(1)}, hidden.options())
          .index_add(0, index, is_weighted ? hidden * column(weights) : hidden);
  return sums / column(divisors);
}

// The rows that `reduce` makes of each sequence's tokens [L, H].
template <typename Reduce>
torch::Tensor pool_each(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                        Reduce reduce) {
  std::vector<torch::Tensor> rows;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    rows.push_back(length == 0 ? torch::zeros({hidden.size(1)}, hidden.options())
                               : reduce(hidden.narrow(0, offsets[i], length)));
  }
  return rows.empty() ? torch::zeros({0, hidden.size(1)}, hidden.options()) : torch::stack(rows);
}

torch::Tensor pool_mode(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                        PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kMean:
    case PoolingMode::kMeanSqrtLength:
    case PoolingMode::kWeightedMean:
      return pool_sum(hidden, offsets, mode);
    case PoolingMode::kCls:
      return pool_each(hidden, offsets, [](const torch::Tensor& x) { return x[0]; });
    case PoolingMode::kLastToken:
      return pool_each(hidden, offsets, [](const torch::Tensor& x) { return x[-1]; });
    case PoolingMode::kMax:
      return pool_each(hidden, offsets, [](const torch::Tensor& x) { return x.amax(0); });
  }
  return {};
}

}  // namespace

torch::Tensor pool_tokens(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                          const Pooling& pooling) {
  if (pooling.modes.empty()) return hidden;
  std::vector<torch::Tensor> parts;
  for (const PoolingMode mode : pooling.modes) parts.push_back(pool_mode(hidden, offsets, mode));
  return parts.size() == 1 ? parts[0] : torch::cat(parts, 1);
}

}  // namespace simile
