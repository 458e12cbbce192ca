// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/pooling.h"

#include <torch/torch.h>

#include <algorithm>

namespace simile {
namespace {

torch::Tensor pool_mean(const torch::Tensor& hidden, const std::vector<int32_t>& offsets) {
  const int64_t size = static_cast<int64_t>(offsets.size()) - 1;
  std::vector<int64_t> sequence_of_token;
  std::vector<float> lengths;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    sequence_of_token.insert(sequence_of_token.end(), static_cast<size_t>(length), i);
    lengths.push_back(static_cast<float>(std::max<int64_t>(length, 1)));
  }
  const torch::Tensor index = torch::tensor(sequence_of_token, torch::kInt64).to(hidden.device());
  const torch::Tensor sums =
      torch::zeros({size, hidden.size(1)}, hidden.options()).index_add(0, index, hidden);
  return sums / torch::tensor(lengths).to(hidden.options()).unsqueeze(1);
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

}  // namespace

torch::Tensor pool_tokens(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                          PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kMean:
      return pool_mean(hidden, offsets);
    case PoolingMode::kCls:
      return pool_each(hidden, offsets, [](const torch::Tensor& x) { return x[0]; });
    case PoolingMode::kMax:
      return pool_each(hidden, offsets, [](const torch::Tensor& x) { return x.amax(0); });
  }
  return {};
}

}  // namespace simile
