// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/hybrid_weight.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/core/threads.h"

namespace simile {
namespace {

constexpr int64_t kWeights = 21;

TEST(HybridWeight, WeightsAreTwentiethsFromNoughtToOne) {
  const std::vector<double> weights = hybrid_weights();
  ASSERT_EQ(weights.size(), static_cast<size_t>(kWeights));
  EXPECT_EQ(weights[0], 0);
  EXPECT_EQ(weights[8], 0.4);
  EXPECT_EQ(weights[20], 1);
}

TEST(HybridWeight, OneThatIsBestForEveryQueryIsTaken) {
  Matrix<double> values(7, kWeights, 0.25);
  for (int64_t q = 0; q < values.rows; ++q) values.at(q, 13) = 0.5;
  const WeightChoice choice = choose_hybrid_weight(values, 0.4);
  EXPECT_EQ(choice.weight, 0.65);
  EXPECT_EQ(choice.votes.low, 0.65);
  EXPECT_EQ(choice.votes.high, 0.65);
  EXPECT_DOUBLE_EQ(choice.value, 0.5);
}

TEST(HybridWeight, WhereAllAreAlikeThePreferredOneIsTaken) {
  EXPECT_EQ(choose_hybrid_weight(Matrix<double>(3, kWeights, 0.7), 0.4).weight, 0.4);
  EXPECT_EQ(choose_hybrid_weight(Matrix<double>(3, kWeights, 0.7), 0.93).weight, 0.95);
  // The same three numbers, so the same mean, in another order.
  Matrix<double> orders(3, kWeights, 0);
  const double numbers[] = {0.1, 0.7, 1.0 / 3};
  for (int64_t q = 0; q < 3; ++q) {
    for (int64_t w = 0; w < kWeights; ++w) orders.at(q, w) = numbers[(q + w) % 3];
  }
  const WeightChoice choice = choose_hybrid_weight(orders, 0.4);
  EXPECT_NEAR(choice.weight, 0.4, 0.051);
}

// Half of the queries want 0.2, the others 0.8, a little more: the best on all is 0.8, but by
// chance, and samples say so.
TEST(HybridWeight, AFewQueriesDoNotDecideAlone) {
  Matrix<double> values(40, kWeights, 0);
  for (int64_t q = 0; q < values.rows; ++q) {
    const int64_t wanted = q % 2 == 0 ? 4 : 16;
    values.at(q, wanted) = wanted == 4 ? 0.5 : 0.51;
  }
  const WeightChoice choice = choose_hybrid_weight(values, 0.4);
  EXPECT_GT(choice.weight, 0.35);
  EXPECT_LT(choice.weight, 0.7);
  EXPECT_EQ(choice.votes.low, 0.2);
  EXPECT_EQ(choice.votes.high, 0.8);
}

TEST(HybridWeight, IsTheSameForAnyNumberOfThreads) {
  Matrix<double> values(80, kWeights);
  RandomStream stream(3, "values");
  for (double& value : values.values) value = stream.uniform();
  const int threads = thread_count();
  set_thread_count(1);
  const WeightChoice one = choose_hybrid_weight(values, 0.4);
  set_thread_count(2);
  const WeightChoice two = choose_hybrid_weight(values, 0.4);
  set_thread_count(threads);
  EXPECT_EQ(one.weight, two.weight);
  EXPECT_EQ(one.votes.low, two.votes.low);
  EXPECT_EQ(one.votes.high, two.votes.high);
  EXPECT_EQ(one.value, two.value);
}

TEST(HybridWeight, NoQueriesAreAnError) {
  EXPECT_THROW(choose_hybrid_weight(Matrix<double>(0, kWeights), 0.4), Error);
}

}  // namespace
}  // namespace simile
