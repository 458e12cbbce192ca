// SPDX-License-Identifier: Apache-2.0
// The optimiser of tensors follows the flat one, and either reads the other's state.
#include "simile/train/optimizer.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/train/detail/optimizer_golden_test.h"
#include "simile/train/flat_optimizer.h"

namespace simile {
namespace {

using torch::Tensor;

std::vector<OptimizerOptions> tensor_rules() {
  std::vector<OptimizerOptions> all;
  for (const char* name : {"adamw", "adam", "adamax", "sgd"}) {
    for (const bool other : {false, true}) {
      OptimizerOptions options;
      options.name = name;
      options.weight_decay = options.l2 = other ? 0.1 : 0.0;
      options.bias_correction = !other;
      options.momentum = other ? 0.9 : 0.0;
      options.clip_norm = other ? 0.5 : 0.0;
      all.push_back(options);
      options.rows = "used";
      all.push_back(options);
    }
  }
  return all;
}

// A table, two matrices that decay side by side, and a bias.
std::vector<ParameterSlot> four_slots() {
  return {{"word", {20, 8}, 0, 160, true},
          {"bias", {8}, 160, 8, false},
          {"up", {4, 8}, 168, 32, true},
          {"down", {8, 4}, 200, 32, true}};
}
constexpr int64_t kSize = 232, kHead = 12;

Tensor random_tensor(int64_t size, const std::string& name) {
  const Tensor tensor = torch::empty({size});
  RandomStream stream(3, name);
  for (int64_t i = 0; i < size; ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>(stream.normal());
  }
  return tensor;
}

// The same weights and a head under both optimisers.
struct Pair {
  Tensor flat = random_tensor(kSize, "weights"), flat_head = random_tensor(kHead, "head");
  Tensor tensor = flat.clone(), tensor_head = flat_head.clone();
  Tensor gradient = torch::zeros({kSize}), head_gradient = torch::zeros({kHead});
  Tensor flat_gradient = gradient.clone(), flat_head_gradient = head_gradient.clone();
  FlatOptimizer expected;
  TensorOptimizer found;

  explicit Pair(const OptimizerOptions& options)
      : expected(options, four_slots(), flat, flat_gradient, deferred_table(four_slots().front()),
                 {{"head", flat_head, flat_head_gradient, 5.0, true}}),
        found(options, four_slots(), tensor, gradient,
              {{"head", tensor_head, head_gradient, 5.0, true}}, 20) {}

  void step(int64_t number) {
    const std::string name = std::to_string(number);
    flat_gradient.copy_(random_tensor(kSize, "gradient" + name));
    flat_gradient.narrow(0, 0, 160).zero_();
    flat_gradient.narrow(0, number % 5 * 8, 8).fill_(0.3);
    flat_head_gradient.copy_(random_tensor(kHead, "head gradient" + name));
    gradient.copy_(flat_gradient);
    head_gradient.copy_(flat_head_gradient);
    expected.prepare_rows({static_cast<int32_t>(number % 5)});
    found.prepare_rows({static_cast<int32_t>(number % 5)});
    const double norm = expected.step(0.01);
    EXPECT_NEAR(found.step(0.01), norm, 1e-6 * norm);
    EXPECT_EQ(gradient.abs().sum().item<float>(), 0);
    EXPECT_EQ(head_gradient.abs().sum().item<float>(), 0);
  }

  void compare() {
    expected.flush_rows();
    EXPECT_LT((tensor - flat).abs().max().item<double>(), 2e-6);
    EXPECT_LT((tensor_head - flat_head).abs().max().item<double>(), 5e-6);
  }
};

TEST(TensorOptimizer, FollowsTheFlatOneUnderEveryRule) {
  for (OptimizerOptions options : tensor_rules()) {
    SCOPED_TRACE(options_to_json(options));
    Pair pair(options);
    for (int64_t number = 1; number <= 40; ++number) pair.step(number);
    pair.compare();
  }
}

struct GoldenTensor {
  Tensor values, gradient;
  TensorOptimizer optimizer;

  GoldenTensor(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
               const std::vector<float>& start, int64_t rows = 0)
      : values(torch::tensor(start)),
        gradient(torch::zeros_like(values)),
        optimizer(options, slots, values, gradient, {}, rows) {}
  void prepare(const std::vector<int32_t>& used) { optimizer.prepare_rows(used); }
  double step(double rate, const std::vector<float>& of_step) {
    gradient.copy_(torch::tensor(of_step));
    return optimizer.step(rate);
  }
  std::vector<float> weights() const {
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
  }
};

TEST(TensorOptimizer, TrajectoriesMatchTheReference) {
  testing::follow_golden_trajectories(
      [](const auto&... arguments) { return GoldenTensor(arguments...); });
}

TEST(TensorOptimizer, UsedRowsFollowTheReference) {
  testing::follow_golden_rows([](const auto&... arguments) { return GoldenTensor(arguments...); });
}

TEST(TensorOptimizer, ContinuesFromAStateBitForBitAndReadsTheFlatOnes) {
  for (OptimizerOptions options : tensor_rules()) {
    SCOPED_TRACE(options_to_json(options));
    Pair whole(options), own(options), crossed(options);
    for (int64_t number = 1; number <= 10; ++number) whole.step(number);
    whole.expected.flush_rows();
    own.tensor.copy_(whole.tensor);
    own.tensor_head.copy_(whole.tensor_head);
    own.found.load_state(whole.found.state());
    // Each of the crossed ones continues from the other's weights and state.
    crossed.flat.copy_(whole.tensor);
    crossed.flat_head.copy_(whole.tensor_head);
    crossed.expected.load_state(whole.found.state());
    crossed.tensor.copy_(whole.flat);
    crossed.tensor_head.copy_(whole.flat_head);
    crossed.found.load_state(whole.expected.state());
    own.expected.load_state(whole.expected.state());
    for (int64_t number = 11; number <= 20; ++number) {
      whole.step(number);
      own.step(number);
      crossed.step(number);
    }
    EXPECT_TRUE(torch::equal(own.tensor, whole.tensor));
    EXPECT_TRUE(torch::equal(own.tensor_head, whole.tensor_head));
    crossed.compare();
    whole.compare();
  }
}

TEST(TensorOptimizer, ANormThatIsNotFiniteAndWrongStatesChangeNothing) {
  Pair pair(OptimizerOptions{});
  pair.step(1);
  const Tensor before = pair.tensor.clone();
  pair.head_gradient[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(pair.found.step(0.1)));
  EXPECT_TRUE(torch::equal(pair.tensor, before));
  EXPECT_EQ(pair.head_gradient[0].item<float>(), 0);
  const OptimizerState good = pair.found.state();
  EXPECT_EQ(good.step, 1);
  std::vector<OptimizerState> bad(4, good);
  bad[0].first_moment.pop_back();
  bad[1].second_moment.push_back(0.0f);
  bad[2].row_steps.clear();
  bad[3].row_steps[0] = 0;  // it lags behind
  for (const OptimizerState& state : bad) EXPECT_THROW(pair.found.load_state(state), Error);
}

}  // namespace
}  // namespace simile
