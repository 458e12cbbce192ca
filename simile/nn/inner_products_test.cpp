// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/inner_products.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace simile {
namespace {

TEST(InnerProducts, AreThoseOfAMatrixProductWithTheSameGradients) {
  torch::manual_seed(1);
  for (const auto& [m, n, size] : {std::tuple<int, int, int>{1, 1, 1}, {3, 5, 7}, {40, 120, 256}}) {
    const torch::Tensor a = torch::randn({m, size}).requires_grad_();
    const torch::Tensor b = torch::randn({n, size}).requires_grad_();
    const torch::Tensor weights = torch::randn({m, n});
    const torch::Tensor product = inner_products(a, b);
    (product * weights).sum().backward();
    const torch::Tensor exact_a = a.detach().to(torch::kDouble).requires_grad_();
    const torch::Tensor exact_b = b.detach().to(torch::kDouble).requires_grad_();
    const torch::Tensor exact = inner_products(exact_a, exact_b);
    (exact * weights).sum().backward();
    EXPECT_TRUE(torch::allclose(product.to(torch::kDouble), exact, 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(a.grad().to(torch::kDouble), exact_a.grad(), 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(b.grad().to(torch::kDouble), exact_b.grad(), 1e-4, 1e-4));
  }
}

TEST(InnerProducts, RefuseRowsOfDifferentLengths) {
  EXPECT_THROW(inner_products(torch::zeros({2, 3}), torch::zeros({2, 4})), c10::Error);
}

TEST(InnerProducts, TakeTransposedViewsAndNoRows) {
  const torch::Tensor a = torch::randn({8, 4}).t(), b = torch::randn({8, 4}).t();
  EXPECT_TRUE(torch::allclose(inner_products(a, b), a.matmul(b.t()), 1e-5, 1e-5));
  EXPECT_EQ(inner_products(torch::zeros({0, 8}), b).sizes(), (std::vector<int64_t>{0, 4}));
}

}  // namespace
}  // namespace simile
