// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of encoders.
#pragma once

#include <torch/types.h>

namespace simile {

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

}  // namespace simile
