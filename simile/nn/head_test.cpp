// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/head.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/encode/head.h"
#include "simile/model/detail/head_golden_test.h"

namespace simile {
namespace {

using nlohmann::json;
using torch::Tensor;

Tensor read_tensor(const json& rows) {
  if (rows.empty()) return {};
  std::vector<double> values;
  for (const json& row : rows) {
    for (const json& value : row) values.push_back(value.get<double>());
  }
  return torch::tensor(values, torch::kDouble).view({static_cast<int64_t>(rows.size()), -1});
}

HeadSettings make_settings(const std::string& kind, const std::string& input = "pair") {
  HeadSettings settings;
  settings.name = kind;
  settings.kind = kind;
  settings.input = input;
  settings.layers = 3;
  return settings;
}

// Weights large enough for every layer to matter.
HeadModule make_module(const HeadSettings& settings, int64_t H, torch::Dtype type) {
  HeadModule module(settings, H, type);
  torch::manual_seed(3);
  torch::NoGradGuard guard;
  module.parameters().copy_(0.5 * torch::randn({module.parameter_count()}, torch::kDouble));
  return module;
}

Tensor randn(int64_t rows, int64_t cols, int64_t seed, torch::Dtype type = torch::kDouble) {
  torch::manual_seed(seed);
  return torch::randn({rows, cols}, torch::kDouble).to(type);
}

Matrix<float> to_matrix(const Tensor& tensor) {
  const Tensor plain = tensor.detach().contiguous();
  Matrix<float> matrix(plain.size(0), plain.size(1));
  std::copy(plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel(),
            matrix.values.begin());
  return matrix;
}

// Gradients of sum(f() * weights) at `leaves` against central differences.
void expect_gradients(const std::function<Tensor()>& f, const std::vector<Tensor>& leaves,
                      const std::string& what) {
  constexpr double kStep = 1e-6;
  const Tensor weights = randn(f().numel(), 1, 9).flatten();
  const auto value = [&] { return (f().flatten() * weights).sum(); };
  for (const Tensor& leaf : leaves) leaf.mutable_grad() = torch::zeros_like(leaf);
  value().backward();
  torch::NoGradGuard guard;
  for (size_t t = 0; t < leaves.size(); ++t) {
    double* const numbers = leaves[t].data_ptr<double>();
    for (int64_t i = 0; i < leaves[t].numel(); ++i) {
      const double kept = numbers[i];
      numbers[i] = kept + kStep;
      const double above = value().item<double>();
      numbers[i] = kept - kStep;
      const double below = value().item<double>();
      numbers[i] = kept;
      ASSERT_NEAR(leaves[t].grad().flatten()[i].item<double>(), (above - below) / (2 * kStep), 1e-6)
          << what << ", tensor " << t << ", number " << i;
    }
  }
}

TEST(HeadModuleGolden, LogitsMatchTheIndependentImplementationAndInference) {
  const json golden = golden_heads();
  const int64_t H = golden["size"];
  for (const json& item : golden["heads"]) {
    const HeadSettings settings = read_golden_settings(item);
    const Tensor u = read_tensor(item["u"]), v = read_tensor(item["v"]);
    const auto weights = item["weights"].get<std::vector<double>>();
    HeadModule exact(settings, H, torch::kDouble), module(settings, H);
    {
      torch::NoGradGuard guard;
      exact.parameters().copy_(torch::tensor(weights, torch::kDouble));
      module.parameters().copy_(torch::tensor(weights, torch::kDouble));
    }
    const std::string what = settings.kind + " " + settings.input + " " + settings.output;
    const Tensor expected = read_tensor(item["logits"]);
    EXPECT_TRUE(torch::allclose(exact.logits(u, v), expected, 1e-12, 1e-12)) << what;
    const Tensor left = u.to(torch::kFloat), right = v.defined() ? v.to(torch::kFloat) : Tensor();
    const Tensor logits = module.logits(left, right);
    EXPECT_TRUE(torch::allclose(logits.to(torch::kDouble), expected, 1e-6, 1e-6)) << what;
    const Head head(settings, H, module.to_host());
    const Matrix<float> inferred =
        head.logits(to_matrix(left), v.defined() ? to_matrix(right) : Matrix<float>());
    for (int64_t i = 0; i < logits.numel(); ++i) {
      const float value = inferred.values[static_cast<size_t>(i)];
      EXPECT_NEAR(logits.flatten()[i].item<float>(), value, 1e-6f * std::max(1.0f, std::abs(value)))
          << what;
    }
  }
}

TEST(HeadModule, GradientsAgreeWithFiniteDifferencesAlsoUnderDropout) {
  constexpr int64_t H = 4;
  for (const auto& [kind, input] : {std::pair<const char*, const char*>{"l1", "pair"},
                                    {"cosine", "pair"},
                                    {"concat", "pair"},
                                    {"mlp", "pair"},
                                    {"linear", "single"},
                                    {"mlp", "joint"}}) {
    const HeadModule module = make_module(make_settings(kind, input), H, torch::kDouble);
    const bool pair = std::string(input) == "pair";
    const Tensor u = randn(3, H, 1).requires_grad_(), v = randn(3, H, 2).requires_grad_();
    for (const double p : {0.0, 0.3}) {
      const auto logits = [&, p = p] { return module.logits(u, pair ? v : Tensor(), {p, 11, 2}); };
      std::vector<Tensor> leaves = {u, module.parameters()};
      if (pair) leaves.push_back(v);
      expect_gradients(logits, leaves, std::string(kind) + " " + input);
    }
  }
}

TEST(HeadModule, ZeroRowsAndEqualRowsHaveFiniteGradients) {
  for (const char* kind : {"l1", "cosine", "concat"}) {
    const HeadModule module = make_module(make_settings(kind), 4, torch::kFloat);
    const Tensor u = torch::zeros({2, 4}), v = torch::zeros({2, 4});
    u[1].fill_(0.5);
    v[1].fill_(0.5);
    u.requires_grad_();
    v.requires_grad_();
    const Tensor logits = module.logits(u, v);
    logits.sum().backward();
    EXPECT_TRUE(logits.isfinite().all().item<bool>()) << kind;
    EXPECT_TRUE(u.grad().isfinite().all().item<bool>()) << kind;
    EXPECT_TRUE(module.parameters().grad().isfinite().all().item<bool>()) << kind;
  }
}

TEST(HeadModule, DropoutKeepsTheExpectationAndDependsOnKeyAndStepAlone) {
  constexpr int64_t H = 16;
  HeadModule module(make_settings("concat"), H, torch::kDouble);
  torch::NoGradGuard guard;
  module.parameters().fill_(1.0);
  const Tensor u = torch::ones({4000, H}, torch::kDouble), v = 3 * u;
  // A logit is the sum of 16 ones, 16 threes and 16 twos, and the bias.
  EXPECT_DOUBLE_EQ(module.logits(u, v)[0].item<double>(), 97.0);
  const Tensor dropped = module.logits(u, v, {0.25, 5, 1});
  EXPECT_NEAR(dropped.mean().item<double>(), 97.0, 0.7);
  EXPECT_GT(dropped.std().item<double>(), 5.0);
  EXPECT_TRUE(module.logits(u, v, {0.25, 5, 1}).equal(dropped));
  EXPECT_FALSE(module.logits(u, v, {0.25, 5, 2}).equal(dropped));
  EXPECT_FALSE(module.logits(u, v, {0.25, 6, 1}).equal(dropped));
  EXPECT_THROW(module.logits(u, v, {1.0, 5, 1}), Error);
}

TEST(HeadModule, WithoutTheDifferenceAPairIsBothVectors) {
  constexpr int64_t H = 3;
  HeadSettings settings = make_settings("concat");
  settings.difference = false;
  HeadModule module(settings, H);
  {
    torch::NoGradGuard guard;
    module.parameters().copy_(torch::tensor({1., 2., 3., 10., 20., 30., 0.5}));
  }
  const Tensor u = torch::tensor({{1.f, 1.f, 2.f}}), v = torch::tensor({{1.f, 0.f, -1.f}});
  EXPECT_FLOAT_EQ(module.logits(u, v).item<float>(), 9 - 20 + 0.5f);
  const Head head(settings, H, module.to_host());
  EXPECT_FLOAT_EQ(head.logits(to_matrix(u), to_matrix(v)).values[0], 9 - 20 + 0.5f);
}

TEST(HeadModule, DropoutOfOneSideLeavesTheOtherAsItIs) {
  constexpr int64_t H = 16;
  for (const bool difference : {true, false}) {
    HeadSettings settings = make_settings("concat");
    settings.difference = difference;
    settings.dropout_side = "first";
    HeadModule module = make_module(settings, H, torch::kDouble);
    const Tensor u = randn(50, H, 1).requires_grad_(), v = randn(50, H, 2).requires_grad_();
    const HeadDropout dropout{0.5, 5, 1};
    const auto dropped = [&](const Tensor& left, const Tensor& right) {
      return module.logits(left, right, dropout) - module.logits(left, right);
    };
    EXPECT_GT(dropped(u, v).abs().min().item<double>(), 1e-6);
    EXPECT_LT(dropped(torch::zeros({50, H}, torch::kDouble), v).abs().max().item<double>(), 1e-12);
    expect_gradients([&] { return module.logits(u, v, dropout); }, {u, v, module.parameters()},
                     "first side");
  }
}

TEST(HeadModule, CrossLogitsAreTheLogitsOfAllPairs) {
  constexpr int64_t m = 40, n = 70, H = 8;  // several blocks
  for (const char* kind : {"l1", "cosine", "concat", "mlp"}) {
    const HeadModule module = make_module(make_settings(kind), H, torch::kFloat);
    const HeadDropout dropout{0.2, 3, 4};
    const Tensor u = randn(m, H, 1, torch::kFloat).requires_grad_();
    const Tensor v = randn(n, H, 2, torch::kFloat).requires_grad_();
    const Tensor weights = randn(m, n, 5, torch::kFloat);
    const Tensor cross = module.cross_logits(u, v, dropout);
    (cross * weights).sum().backward();
    const Tensor u_gradient = u.grad().clone(), v_gradient = v.grad().clone(),
                 gradient = module.parameters().grad().clone();
    for (const Tensor& leaf : {u, v, module.parameters()}) leaf.mutable_grad().zero_();
    const Tensor left = u.unsqueeze(1).expand({m, n, H}).reshape({m * n, H});
    const Tensor right = v.unsqueeze(0).expand({m, n, H}).reshape({m * n, H});
    const Tensor pairs = module.logits(left, right, dropout).view({m, n});
    EXPECT_TRUE(pairs.equal(cross)) << kind;
    (pairs * weights).sum().backward();
    EXPECT_TRUE(torch::allclose(u.grad(), u_gradient, 1e-4, 1e-4)) << kind;
    EXPECT_TRUE(torch::allclose(v.grad(), v_gradient, 1e-4, 1e-4)) << kind;
    EXPECT_TRUE(torch::allclose(module.parameters().grad(), gradient, 1e-4, 1e-3)) << kind;
  }
}

TEST(HeadModule, SharedLayersAreThoseOfTheOtherHead) {
  constexpr int64_t H = 4;
  std::vector<HeadModule> heads;
  for (const char* name : {"owner", "other"}) {
    HeadSettings settings = make_settings("mlp");
    settings.name = name;
    if (!heads.empty()) settings.shares = "owner";
    heads.push_back(make_module(settings, H, torch::kDouble));
  }
  const Tensor owner = heads[0].parameters(), own = heads[1].parameters();
  {
    torch::NoGradGuard guard;
    own.add_(1.0);
  }
  share_layers(heads);
  const int64_t inner = inner_parameter_count(heads[0].settings(), H);
  HeadModule whole = make_module(make_settings("mlp"), H, torch::kDouble);
  {
    torch::NoGradGuard guard;
    whole.parameters().narrow(0, 0, inner).copy_(owner.narrow(0, 0, inner));
    const int64_t rest = whole.parameter_count() - inner;
    whole.parameters().narrow(0, inner, rest).copy_(own.narrow(0, inner, rest));
  }
  const Tensor u = randn(3, H, 1).requires_grad_(), v = randn(3, H, 2).requires_grad_();
  const HeadDropout dropout{0.3, 11, 2};
  EXPECT_TRUE(heads[1].logits(u, v, dropout).equal(whole.logits(u, v, dropout)));
  EXPECT_TRUE(heads[1].cross_logits(u, v).equal(whole.cross_logits(u, v)));
  expect_gradients([&] { return heads[0].logits(u, v) * heads[1].logits(u, v, dropout); },
                   {u, v, owner, own}, "both heads");
  expect_gradients([&] { return heads[1].cross_logits(u, v); }, {u, v, owner, own}, "all pairs");
  EXPECT_EQ(own.grad().narrow(0, 0, inner).abs().max().item<double>(), 0);
}

TEST(HeadModule, CrossLogitsHaveTheGradientsOfFiniteDifferences) {
  const HeadModule module = make_module(make_settings("mlp"), 3, torch::kDouble);
  const Tensor u = randn(2, 3, 1).requires_grad_(), v = randn(4, 3, 2).requires_grad_();
  expect_gradients([&] { return module.cross_logits(u, v); }, {u, v, module.parameters()}, "mlp");
}

TEST(HeadModule, ThreadsChangeNoBitOfValuesAndGradients) {
  constexpr int64_t H = 64;
  const HeadModule module = make_module(make_settings("mlp"), H, torch::kFloat);
  const auto run = [&](int threads) {
    set_thread_count(threads);
    torch::set_num_threads(threads);
    const Tensor u = randn(300, H, 1, torch::kFloat).requires_grad_();
    const Tensor v = randn(300, H, 2, torch::kFloat).requires_grad_();
    const Tensor logits = module.logits(u, v, {0.1, 1, 1});
    const Tensor cross = module.cross_logits(u.narrow(0, 0, 50), v, {0.1, 1, 1});
    module.parameters().mutable_grad().zero_();
    torch::autograd::backward({logits, cross},
                              {torch::full_like(logits, 0.3), torch::full_like(cross, 0.01)});
    return std::vector<Tensor>{logits, cross, u.grad(), v.grad(),
                               module.parameters().grad().clone()};
  };
  const std::vector<Tensor> one = run(1), three = run(3);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(three[i])) << i;
  set_thread_count(2);
  torch::set_num_threads(2);
}

TEST(HeadModule, GradientsAddUpAtOnePlace) {
  HeadModule module(make_settings("linear", "single"), 2);
  float* const gradients = module.parameters().grad().data_ptr<float>();
  const Tensor u = torch::ones({3, 2});
  for (int times = 0; times < 2; ++times) module.logits(u).sum().backward();
  EXPECT_EQ(module.parameters().grad().data_ptr<float>(), gradients);
  EXPECT_EQ(gradients[0], 6.0f);
  EXPECT_EQ(gradients[2], 6.0f);
}

TEST(HeadModule, WhatAHeadCannotTakeIsRefused) {
  const HeadModule pair(make_settings("concat"), 2), single(make_settings("linear", "single"), 2);
  const Tensor two = torch::ones({2, 2}), three = torch::ones({3, 2}), wide = torch::ones({2, 3});
  EXPECT_THROW(pair.logits(two), Error);
  EXPECT_THROW(pair.logits(two, three), Error);
  EXPECT_THROW(pair.logits(wide, wide), Error);
  EXPECT_THROW(single.logits(two, two), Error);
  EXPECT_THROW(single.cross_logits(two, two), Error);
  EXPECT_EQ(pair.cross_logits(two, three).sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(pair.cross_logits(two, torch::ones({0, 2})).sizes(), (std::vector<int64_t>{2, 0}));
}

}  // namespace
}  // namespace simile
