// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/smoothness.h"

#include <limits>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

using testing::gradient_of;
using torch::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SmoothOutput logits(const Tensor& values) { return {values, true}; }
SmoothOutput scores(const Tensor& values) { return {values, false}; }

// Two tensors of random numbers that collect gradients.
std::vector<Tensor> random_pair(std::vector<int64_t> shape) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{3});
  std::vector<Tensor> pair;
  for (int i = 0; i < 2; ++i) {
    pair.push_back(torch::randn(shape, generator, torch::kFloat64).requires_grad_(true));
  }
  return pair;
}

TEST(Smoothness, OfLogitsIsTheSymmetrisedDivergenceOfTheirSoftmaxes) {
  // (1/2, 1/2) and (3/4, 1/4): the sum of (p - q) log(p / q) is log(3) / 4.
  const Tensor a = torch::zeros({1, 2}, torch::kFloat64);
  const Tensor b = torch::tensor({std::log(3.0), 0.0}, torch::kFloat64).unsqueeze(0);
  EXPECT_NEAR(smoothness_distance(logits(a), logits(b)).item<double>(), std::log(3.0) / 4, 1e-15);

  const auto x = random_pair({4, 5});
  const Tensor p = x[0].log_softmax(1), q = x[1].log_softmax(1);
  const Tensor forward = (p.exp() * (p - q)).sum(1), backward = (q.exp() * (q - p)).sum(1);
  EXPECT_NEAR(smoothness_distance(logits(x[0]), logits(x[1])).item<double>(),
              (forward + backward).mean().item<double>(), 1e-14);
  EXPECT_LT(
      testing::largest_difference(row_divergences(logits(x[0]), logits(x[1])), forward.detach()),
      1e-14);
}

TEST(Smoothness, OfOneLogitIsThatOfBernoulliDistributions) {
  const auto z = random_pair({6, 1});
  const Tensor p = z[0].sigmoid(), q = z[1].sigmoid();
  const Tensor terms = (p - q) * (z[0] - z[1]);  // the logarithm of the odds is the logit
  EXPECT_NEAR(smoothness_distance(logits(z[0]), logits(z[1])).item<double>(),
              terms.mean().item<double>(), 1e-14);
}

TEST(Smoothness, OfScoresIsTheirMeanSquaredDifference) {
  const Tensor a = torch::tensor({1.0, 2.0}), b = torch::tensor({1.5, 0.0});
  EXPECT_DOUBLE_EQ(smoothness_distance(scores(a), scores(b)).item<double>(), (0.25 + 4.0) / 2);
}

TEST(Smoothness, IsZeroForEqualOutputsAndNeverNegative) {
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    auto generator = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{5});
    for (int i = 0; i < 200; ++i) {
      const Tensor a = 10 * torch::randn({3, 4}, generator, torch::kFloat64).to(type);
      const Tensor b = a + 1e-6 * torch::randn({3, 4}, generator, torch::kFloat64).to(type);
      EXPECT_EQ(smoothness_distance(logits(a), logits(a)).item<double>(), 0.0);
      EXPECT_EQ(smoothness_distance(scores(a), scores(a)).item<double>(), 0.0);
      EXPECT_GE(smoothness_distance(logits(a), logits(b)).item<double>(), 0.0);
    }
  }
}

TEST(Smoothness, GradientsMatchFiniteDifferences) {
  for (const int64_t columns : {1, 4}) {
    const auto x = random_pair({3, columns});
    testing::expect_gradients_match([&] { return smoothness_distance(logits(x[0]), logits(x[1])); },
                                    x);
    testing::expect_gradients_match(
        [&] { return row_divergences(logits(x[0]), logits(x[1])).sum(); }, x);
    testing::expect_gradients_match([&] { return smoothness_distance(scores(x[0]), scores(x[1])); },
                                    x);
  }
}

TEST(Smoothness, DetachedSidesGetNoGradient) {
  const auto x = random_pair({3, 4});
  smoothness_distance(logits(x[0]), detached(logits(x[1]))).backward();
  EXPECT_GT(gradient_of(x[0]).abs().max().item<double>(), 0.0);
  EXPECT_FALSE(x[1].grad().defined());
}

TEST(Smoothness, ColumnsOfMinusInfinityAreLeftOut) {
  const auto x = random_pair({3, 4});
  const auto without = [](const Tensor& t) {
    return logits(t.masked_fill(torch::arange(4) == 2, -kInfinity));
  };
  const auto narrowed = [](const Tensor& t) {
    return logits(torch::cat({t.narrow(1, 0, 2), t.narrow(1, 3, 1)}, 1));
  };
  EXPECT_NEAR(smoothness_distance(without(x[0]), without(x[1])).item<double>(),
              smoothness_distance(narrowed(x[0]), narrowed(x[1])).item<double>(), 1e-15);
  testing::expect_gradients_match([&] { return smoothness_distance(without(x[0]), without(x[1])); },
                                  x);
  testing::expect_gradients_match(
      [&] { return row_divergences(without(x[0]), without(x[1])).sum(); }, x);
}

TEST(Smoothness, RowsOfNothingButMinusInfinityCountZero) {
  for (const int64_t columns : {1, 3}) {
    const auto x = random_pair({2, columns});
    const Tensor row = torch::tensor({true, false}).unsqueeze(1);
    const auto without = [&](const Tensor& t) { return logits(t.masked_fill(row, -kInfinity)); };
    const auto kept = [](const Tensor& t) { return logits(t.narrow(0, 1, 1)); };
    EXPECT_NEAR(2 * smoothness_distance(without(x[0]), without(x[1])).item<double>(),
                smoothness_distance(kept(x[0]), kept(x[1])).item<double>(), 1e-15);
    testing::expect_finite([&] { return smoothness_distance(without(x[0]), without(x[1])); }, x);
  }
}

TEST(Smoothness, OfColumnsLeftOutOnOneSideIsInfinite) {
  const auto x = random_pair({3, 4});
  const Tensor without = x[0].masked_fill(torch::arange(4) == 2, -kInfinity);
  EXPECT_EQ(smoothness_distance(logits(without), logits(x[1])).item<double>(), kInfinity);
}

TEST(Smoothness, OfFloatsKeepsSmallDifferences) {
  const auto x = random_pair({8, 30});
  const Tensor a = (20 * x[0].detach()).to(torch::kFloat32);
  const Tensor b = a + 1e-3 * x[1].detach().to(torch::kFloat32);
  const Tensor value = smoothness_distance(logits(a), logits(b));
  const double exact =
      smoothness_distance(logits(a.to(torch::kFloat64)), logits(b.to(torch::kFloat64)))
          .item<double>();
  EXPECT_EQ(value.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(value.item<double>(), exact, 1e-6 * exact);
}

TEST(Smoothness, RefusesOutputsThatDoNotFit) {
  const Tensor a = torch::zeros({3, 4}), b = torch::zeros({4, 3}), c = torch::zeros({3});
  EXPECT_THROW(smoothness_distance(logits(a), logits(b)), Error);
  EXPECT_THROW(smoothness_distance(logits(a), scores(a)), Error);
  EXPECT_THROW(smoothness_distance(logits(c), logits(c)), Error);
  EXPECT_THROW(smoothness_distance(scores(torch::zeros({0})), scores(torch::zeros({0}))), Error);
  EXPECT_THROW(row_divergences(scores(c), scores(c)), Error);
}

TEST(Smoothness, ThreadsDoNotChangeTheBits) {
  const int kept = thread_count();
  std::vector<Tensor> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    const auto x = random_pair({300, 400});
    const Tensor value = smoothness_distance(logits(x[0]), logits(x[1]));
    value.backward();
    results.push_back(torch::cat({value.detach().reshape({1}), gradient_of(x[0]).reshape({-1})}));
  }
  set_thread_count(kept);
  EXPECT_TRUE(torch::equal(results[0], results[1]));
}

}  // namespace
}  // namespace simile
