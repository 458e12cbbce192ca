// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/row_products.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "simile/kernel/bfloat_kernels.h"

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

using torch::Tensor;

Tensor contrastive_draw(int64_t rows, int64_t D, uint64_t seed) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  const Tensor x = torch::randn({rows, D}, generator, torch::kFloat);
  return (x / x.norm(2, {1}, true)).clone().requires_grad_(true);
}

double apart(const Tensor& a, const Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

struct ContrastiveLeaves {
  Tensor left = contrastive_draw(30, 20, 1), right = contrastive_draw(70, 20, 2);
  Tensor scale = torch::full({}, 20.0, torch::kFloat).requires_grad_(true);

  std::vector<Tensor> gradients() const { return {left.grad(), right.grad(), scale.grad()}; }
};

// The same in torch's own calls and double precision.
ContrastiveTermTensors plain_terms(const ContrastiveLeaves& leaves) {
  const Tensor scores = leaves.left.to(torch::kDouble).matmul(leaves.right.to(torch::kDouble).t()) *
                        leaves.scale.to(torch::kDouble);
  return {scores.log_softmax(1).diagonal(), scores.narrow(1, 0, 30).log_softmax(0).diagonal()};
}

// A weighted sum whose gradients differ from term to term.
Tensor weigh(const ContrastiveTermTensors& terms) {
  Tensor sum;
  for (const Tensor& part : {terms.rows, terms.columns}) {
    if (!part.defined()) continue;
    const Tensor weights = torch::linspace(-1, 2, part.size(0), part.options());
    const Tensor weighed = (part * weights).sum();
    sum = sum.defined() ? sum + 0.5 * weighed : weighed;
  }
  return sum;
}

TEST(ContrastiveNode, AgreesWithTorchsOwnCalls) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<bool, bool>>{{true, true}, {true, false}, {false, true}}) {
    for (const ProductType type : {ProductType::kFloat, ProductType::kBfloat}) {
      if (type == ProductType::kBfloat && bfloat_kernels() == nullptr) continue;
      const bool exact = type == ProductType::kFloat;
      ContrastiveLeaves expected, found;
      ContrastiveTermTensors of_torch = plain_terms(expected);
      if (!rows) of_torch.rows = Tensor();
      if (!columns) of_torch.columns = Tensor();
      ASSERT_TRUE(has_contrastive_terms(found.left, found.right, found.scale));
      const ContrastiveTermTensors of_node =
          contrastive_terms(found.left, found.right, found.scale, rows, columns, type);
      EXPECT_EQ(of_node.rows.defined(), rows);
      EXPECT_EQ(of_node.columns.defined(), columns);
      EXPECT_NEAR(weigh(of_node).item<double>(), weigh(of_torch).item<double>(),
                  exact ? 1e-4 : 0.5);
      weigh(of_torch).backward();
      weigh(of_node).backward();
      for (size_t i = 0; i < 3; ++i) {
        const Tensor want = expected.gradients()[i], got = found.gradients()[i];
        EXPECT_LT(apart(got, want), (exact ? 1e-5 : 2e-2) * want.abs().max().item<double>()) << i;
      }
    }
  }
}

TEST(ContrastiveNode, ABackwardPassMayBeRepeated) {
  ContrastiveLeaves leaves;
  const Tensor sum = weigh(
      contrastive_terms(leaves.left, leaves.right, leaves.scale, true, true, ProductType::kFloat));
  sum.backward({}, true);
  const Tensor once = leaves.left.grad().clone();
  sum.backward();
  EXPECT_TRUE(torch::equal(leaves.left.grad(), once + once));
}

TEST(ContrastiveNode, TakesFloatsOnTheCpuAlone) {
  const ContrastiveLeaves leaves;
  const auto& [u, v, s] = leaves;
  EXPECT_FALSE(has_contrastive_terms(u.to(torch::kDouble), v.to(torch::kDouble), s));
  EXPECT_FALSE(has_contrastive_terms(v, u, s));  // fewer on the right
  EXPECT_FALSE(has_contrastive_terms(u, v.narrow(1, 0, 5), s));
  EXPECT_FALSE(has_contrastive_terms(u, v, torch::zeros({})));
  EXPECT_FALSE(has_contrastive_terms(u, v, s.to(torch::kDouble)));
  EXPECT_FALSE(has_contrastive_terms(u.narrow(0, 0, 0), v, s));
}

TEST(UnitRows, AgreeWithTorchsOwnCallsAndZerosStayZero) {
  const Tensor x = 3 * contrastive_draw(40, 17, 3).detach();
  x[7].zero_();
  x[8].fill_(1e-14);
  Tensor a = x.clone().requires_grad_(true), b = x.to(torch::kDouble).requires_grad_(true);
  ASSERT_TRUE(has_unit_rows(a));
  EXPECT_FALSE(has_unit_rows(b));
  const Tensor unit = unit_rows(a);
  const Tensor length = b.norm(2, {1}, true);
  const Tensor usable = length > 1e-12;
  const Tensor expected =
      torch::where(usable, b / torch::where(usable, length, length + 1), torch::zeros_like(b));
  EXPECT_LT(apart(unit, expected), 1e-6);
  const Tensor weights = torch::linspace(-1, 1, x.numel(), torch::kDouble).view_as(x);
  (unit * weights.to(torch::kFloat)).sum().backward();
  (expected * weights).sum().backward();
  EXPECT_LT(apart(a.grad(), b.grad()), 1e-5);
  EXPECT_EQ(a.grad().narrow(0, 7, 2).abs().max().item<float>(), 0.0f);
}

}  // namespace

}  // namespace simile
