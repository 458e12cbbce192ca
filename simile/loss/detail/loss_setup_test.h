// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of losses: random batches in double precision and a check of gradients by
// finite differences.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "simile/loss/loss_input.h"

namespace simile::testing {

// m pairs of size D with n negatives each, from a seeded normal distribution.
inline LossInput random_input(int64_t m, int64_t D, int64_t n = 0, uint64_t seed = 1) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  const auto draw = [&] { return torch::randn({m, D}, generator, torch::kFloat64); };
  LossInput input;
  input.left = draw();
  input.right = draw();
  for (int64_t i = 0; i < n; ++i) input.negatives.push_back(draw());
  return input;
}

// Single texts of size D, one for each of `classes`.
inline LossInput random_texts(const std::vector<int64_t>& classes, int64_t D, uint64_t seed = 1) {
  LossInput input = random_input(static_cast<int64_t>(classes.size()), D, 0, seed);
  input.right = torch::Tensor();
  input.classes = torch::tensor(classes, torch::kInt64);
  return input;
}

// Makes every embedding and logit of the batch a leaf that collects a gradient; returns those there
// are, in this order.
inline std::vector<torch::Tensor> require_gradients(LossInput& input) {
  std::vector<torch::Tensor> leaves = {input.left};
  if (input.right.defined()) leaves.push_back(input.right);
  leaves.insert(leaves.end(), input.negatives.begin(), input.negatives.end());
  if (input.logits.defined()) leaves.push_back(input.logits);
  if (input.cross_logits.defined()) leaves.push_back(input.cross_logits);
  for (torch::Tensor& leaf : leaves) leaf.requires_grad_(true);
  return leaves;
}

// The gradient a backward pass left at `leaf`: zeros when none arrived.
inline torch::Tensor gradient_of(const torch::Tensor& leaf) {
  return leaf.grad().defined() ? leaf.grad() : torch::zeros_like(leaf);
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// Gradients of `loss` by automatic differentiation against central differences, for every number of
// every leaf (doubles that require gradients).
inline void expect_gradients_match(const std::function<torch::Tensor()>& loss,
                                   const std::vector<torch::Tensor>& leaves) {
  constexpr double kStep = 1e-5, kTolerance = 1e-7;
  for (const torch::Tensor& leaf : leaves) leaf.mutable_grad() = torch::Tensor();
  const torch::Tensor value = loss();
  if (value.requires_grad()) value.backward();
  torch::NoGradGuard guard;
  for (size_t t = 0; t < leaves.size(); ++t) {
    const torch::Tensor expected = gradient_of(leaves[t]);
    double* numbers = leaves[t].data_ptr<double>();
    const double* gradient = expected.data_ptr<double>();
    for (int64_t i = 0; i < leaves[t].numel(); ++i) {
      const double kept = numbers[i];
      numbers[i] = kept + kStep;
      const double above = loss().item<double>();
      numbers[i] = kept - kStep;
      const double below = loss().item<double>();
      numbers[i] = kept;
      const double difference = (above - below) / (2 * kStep);
      ASSERT_NEAR(gradient[i], difference, kTolerance * std::max(1.0, std::abs(difference)))
          << "tensor " << t << ", number " << i;
    }
  }
}

// The value is `expected`, every gradient is zero, and a backward pass is possible.
inline void expect_constant(const std::function<torch::Tensor()>& loss, double expected,
                            const std::vector<torch::Tensor>& leaves) {
  for (const torch::Tensor& leaf : leaves) leaf.mutable_grad() = torch::Tensor();
  const torch::Tensor value = loss();
  EXPECT_EQ(value.item<double>(), expected);
  ASSERT_TRUE(value.requires_grad());
  value.backward();
  for (size_t t = 0; t < leaves.size(); ++t) {
    EXPECT_EQ(gradient_of(leaves[t]).abs().max().item<double>(), 0.0) << "tensor " << t;
  }
}

// Value and gradients are finite numbers.
inline void expect_finite(const std::function<torch::Tensor()>& loss,
                          const std::vector<torch::Tensor>& leaves) {
  for (const torch::Tensor& leaf : leaves) leaf.mutable_grad() = torch::Tensor();
  const torch::Tensor value = loss();
  EXPECT_TRUE(value.isfinite().item<bool>()) << value.item<double>();
  if (value.requires_grad()) value.backward();
  for (size_t t = 0; t < leaves.size(); ++t) {
    EXPECT_TRUE(gradient_of(leaves[t]).isfinite().all().item<bool>()) << "tensor " << t;
  }
}

}  // namespace simile::testing
