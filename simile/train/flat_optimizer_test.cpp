// SPDX-License-Identifier: Apache-2.0
#include "simile/train/flat_optimizer.h"

#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/train/detail/optimizer_golden_test.h"

namespace simile {
namespace {

constexpr int64_t kRows = 37, kColumns = 24;

// As torch.nn.utils.clip_grad_norm_: gradients times limit / (norm + 1e-6) where that is below 1.
double clip_gradients(const std::vector<torch::Tensor>& tensors, double limit) {
  double squares = 0;
  for (const torch::Tensor& tensor : tensors) {
    squares += tensor.grad().to(torch::kDouble).square().sum().item<double>();
  }
  const double norm = std::sqrt(squares), factor = limit / (norm + 1e-6);
  for (const torch::Tensor& tensor : tensors) {
    if (factor < 1) tensor.grad().mul_(factor);
  }
  return norm;
}

// A table, a matrix and a bias, as an encoder's layout has them.
std::vector<ParameterSlot> small_layout() {
  const int64_t table = kRows * kColumns, matrix = 12 * kColumns;
  return {{"word", {kRows, kColumns}, 0, table, true},
          {"weight", {12, kColumns}, table, matrix, true},
          {"bias", {kColumns}, table + matrix, kColumns, false}};
}

int64_t layout_size() { return small_layout().back().offset + small_layout().back().size; }

std::vector<float> random_floats(int64_t count, const std::string& name, double deviation = 1.0) {
  RandomStream stream(11, name);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(deviation * stream.normal());
  return values;
}

// The rows that step `step` uses: a few, some of them often, some hardly ever.
std::vector<int32_t> rows_of_step(int64_t step) {
  RandomStream stream(12, "rows", static_cast<uint64_t>(step));
  std::vector<int32_t> rows;
  for (int i = 0; i < 5; ++i) {
    const double u = stream.uniform();
    rows.push_back(static_cast<int32_t>(u * u * (kRows - 2)));  // the last two are never used
  }
  return rows;
}

// A gradient that is zero in the rows the step does not use.
std::vector<float> gradient_of_step(int64_t step) {
  std::vector<float> gradient =
      random_floats(layout_size(), "gradient" + std::to_string(step), 0.05);
  const std::vector<int32_t> rows = rows_of_step(step);
  for (int64_t row = 0; row < kRows; ++row) {
    if (std::count(rows.begin(), rows.end(), row) > 0) continue;
    std::fill_n(gradient.begin() + row * kColumns, kColumns, 0.0f);
  }
  return gradient;
}

double rate_of_step(int64_t step) { return 1e-2 / (1.0 + 0.01 * static_cast<double>(step)); }

// A tensor on the memory of the numbers.
torch::Tensor view_of(std::vector<float>& numbers) {
  return torch::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())});
}

struct Training {
  std::vector<float> weights, gradient;
  std::unique_ptr<FlatOptimizer> optimizer;

  explicit Training(bool deferred, const OptimizerOptions& options = {})
      : weights(random_floats(layout_size(), "weights")), gradient(weights.size()) {
    const DeferredTable table = deferred ? deferred_table(small_layout()[0]) : DeferredTable{};
    optimizer = std::make_unique<FlatOptimizer>(options, small_layout(), view_of(weights),
                                                view_of(gradient), table);
  }
  double step(int64_t number, bool deferred) {
    const std::vector<float> of_step = gradient_of_step(number);
    std::copy(of_step.begin(), of_step.end(), gradient.begin());
    if (deferred) optimizer->prepare_rows(rows_of_step(number));
    const double norm = optimizer->step(rate_of_step(number));
    for (const float value : gradient) EXPECT_EQ(value, 0.0f);
    return norm;
  }
};

TEST(FlatOptimizer, FollowsTorchsAdamWFor100Steps) {
  OptimizerOptions options;
  options.weight_decay = 0.1;
  options.epsilon = 1e-6;
  Training training(false, options);

  // Copies, since torch's tensors of the same numbers must not share memory with ours.
  std::vector<torch::Tensor> decaying, rest;
  const torch::Tensor start = torch::tensor(training.weights);
  for (const ParameterSlot& slot : small_layout()) {
    torch::Tensor tensor = start.narrow(0, slot.offset, slot.size).clone().requires_grad_(true);
    (slot.decays ? decaying : rest).push_back(tensor);
  }
  using torch::optim::AdamWOptions;
  const auto group = [](const std::vector<torch::Tensor>& tensors, double decay) {
    return torch::optim::OptimizerParamGroup(
        tensors, std::make_unique<AdamWOptions>(AdamWOptions(1e-2).eps(1e-6).weight_decay(decay)));
  };
  torch::optim::AdamW reference({group(decaying, 0.1), group(rest, 0.0)});
  const std::vector<torch::Tensor> tensors = {decaying[0], decaying[1], rest[0]};

  for (int64_t number = 1; number <= 100; ++number) {
    const torch::Tensor gradient = torch::tensor(gradient_of_step(number));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const ParameterSlot slot = small_layout()[i];
      tensors[i].mutable_grad() = gradient.narrow(0, slot.offset, slot.size).clone();
    }
    for (auto& parameters : reference.param_groups()) {
      static_cast<AdamWOptions&>(parameters.options()).lr(rate_of_step(number));
    }
    const double norm = clip_gradients(tensors, 1.0);
    EXPECT_NEAR(training.step(number, false), norm, 1e-5 * norm);
    reference.step();
  }
  const torch::Tensor ours = torch::tensor(training.weights), theirs = torch::cat(tensors);
  // 100 steps of about 0.01 moved the weights by about 0.1; both sum in float.
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 3e-6);
  EXPECT_GT((ours - start).abs().max().item<double>(), 0.05);
}

struct GoldenFlat {
  std::vector<float> values, gradient;
  FlatOptimizer optimizer;

  GoldenFlat(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
             const std::vector<float>& start, int64_t rows = 0)
      : values(start),
        gradient(start.size()),
        optimizer(options, slots, view_of(values), view_of(gradient),
                  rows > 0 ? deferred_table(slots[0]) : DeferredTable()) {}
  void prepare(const std::vector<int32_t>& used) { optimizer.prepare_rows(used); }
  double step(double rate, const std::vector<float>& of_step) {
    std::copy(of_step.begin(), of_step.end(), gradient.begin());
    return optimizer.step(rate);
  }
  std::vector<float> weights() const { return values; }
};

TEST(FlatOptimizer, TrajectoriesMatchTheReference) {
  testing::follow_golden_trajectories(
      [](const auto&... arguments) { return GoldenFlat(arguments...); });
}

TEST(FlatOptimizer, UsedRowsFollowTheReference) {
  testing::follow_golden_rows([](const auto&... arguments) { return GoldenFlat(arguments...); });
}

// Every rule, with and without what decides how far a row moves by itself.
std::vector<OptimizerOptions> all_rules() {
  std::vector<OptimizerOptions> all;
  for (const char* name : {"adamw", "adam", "adamax", "sgd"}) {
    for (const double decay : {0.0, 0.01}) {
      for (const bool other : {false, true}) {
        OptimizerOptions options;
        options.name = name;
        options.weight_decay = options.l2 = decay;
        options.bias_correction = !other;
        options.momentum = other ? 0.9 : 0.0;
        all.push_back(options);
      }
    }
  }
  return all;
}

void expect_equal(const Training& a, const Training& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.optimizer->state().first_moment, b.optimizer->state().first_moment);
  EXPECT_EQ(a.optimizer->state().second_moment, b.optimizer->state().second_moment);
}

TEST(FlatOptimizer, DeferredRowsEqualTheDenseUpdateBitForBit) {
  for (OptimizerOptions options : all_rules()) {
    options.clip_norm = 0.5;  // below the norms, so that clipping acts at every step
    SCOPED_TRACE(options_to_json(options));
    Training dense(false, options), deferred(true, options);
    for (int64_t number = 1; number <= 60; ++number) {
      EXPECT_EQ(dense.step(number, false), deferred.step(number, true));
      if (number == 20) deferred.optimizer->flush_rows();
      for (const int32_t row : rows_of_step(number + 1)) {
        deferred.optimizer->prepare_rows({row});
        for (int64_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
          ASSERT_EQ(dense.weights[i], deferred.weights[i]) << "step " << number << " row " << row;
        }
      }
    }
    // Rows do lag behind, but for plain descent, where none moves by itself.
    const bool moves = options.name != "sgd" || options.momentum > 0 || options.l2 > 0;
    EXPECT_EQ(dense.weights != deferred.weights, moves);
    deferred.optimizer->flush_rows();
    expect_equal(dense, deferred);
  }
}

TEST(FlatOptimizer, RowsUnusedForAThousandStepsEqualTheDenseUpdate) {
  const int threads = thread_count();
  set_thread_count(1);  // waking others takes longer than so small a step
  for (const OptimizerOptions& options : all_rules()) {
    SCOPED_TRACE(options_to_json(options));
    Training dense(false, options), deferred(true, options);
    dense.step(1, false);
    deferred.step(1, true);
    // Nothing more than row 0 and the other weights, until the first moments underflow.
    for (int64_t number = 2; number <= 1100; ++number) {
      dense.gradient[number % kColumns] = deferred.gradient[number % kColumns] = 0.1f;
      dense.optimizer->step(1e-3);
      deferred.optimizer->prepare_rows({0});
      deferred.optimizer->step(1e-3);
    }
    deferred.optimizer->flush_rows();
    expect_equal(dense, deferred);
  }
  set_thread_count(threads);
}

TEST(FlatOptimizer, ContinuesFromASavedStateBitForBit) {
  for (const OptimizerOptions& options : all_rules()) {
    SCOPED_TRACE(options_to_json(options));
    Training whole(true, options);
    for (int64_t number = 1; number <= 30; ++number) whole.step(number, true);
    whole.optimizer->flush_rows();

    Training first(true, options), second(true, options);
    for (int64_t number = 1; number <= 17; ++number) first.step(number, true);
    const OptimizerState saved = first.optimizer->state();  // with rows that lag behind
    EXPECT_FALSE(saved.learning_rates.empty());
    std::copy(first.weights.begin(), first.weights.end(), second.weights.begin());
    second.optimizer->load_state(saved);
    for (int64_t number = 18; number <= 30; ++number) second.step(number, true);
    second.optimizer->flush_rows();
    expect_equal(whole, second);
  }
}

TEST(FlatOptimizer, UsedRowsAreAllThatMovesAndContinueBitForBit) {
  for (OptimizerOptions options : all_rules()) {
    options.rows = "used";
    SCOPED_TRACE(options_to_json(options));
    Training whole(true, options), second(true, options);
    const std::vector<float> start = whole.weights;
    std::vector<char> was_used(kRows, 0);
    for (int64_t number = 1; number <= 30; ++number) {
      const std::vector<float> before = whole.weights;
      whole.step(number, true);
      const std::vector<int32_t> used = rows_of_step(number);
      for (const int32_t row : used) was_used[row] = 1;
      for (int64_t row = 0; row < kRows; ++row) {
        const bool same =
            std::equal(before.begin() + row * kColumns, before.begin() + (row + 1) * kColumns,
                       whole.weights.begin() + row * kColumns);
        EXPECT_EQ(same, std::count(used.begin(), used.end(), row) == 0) << number << " " << row;
      }
      if (number != 17) continue;
      const OptimizerState saved = whole.optimizer->state();
      EXPECT_TRUE(saved.row_steps.empty());
      EXPECT_TRUE(saved.learning_rates.empty());
      std::copy(whole.weights.begin(), whole.weights.end(), second.weights.begin());
      second.optimizer->load_state(saved);
    }
    for (int64_t number = 18; number <= 30; ++number) second.step(number, true);
    expect_equal(whole, second);
    whole.optimizer->flush_rows();  // nothing waits
    EXPECT_EQ(whole.weights, second.weights);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      if (was_used[i / kColumns] == 0) {
        EXPECT_EQ(whole.weights[i], start[i]);
      }
    }
    EXPECT_THROW(whole.optimizer->load_state(Training(true).optimizer->state()), Error);
  }
}

TEST(FlatOptimizer, TheNumberOfThreadsDoesNotChangeTheBits) {
  const int kept = thread_count();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    Training training(true);
    for (int64_t number = 1; number <= 10; ++number) training.step(number, true);
    training.optimizer->flush_rows();
    results.push_back(training.weights);
  }
  set_thread_count(kept);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(FlatOptimizer, RowsOfSeveralForwardPassesAddUp) {
  Training dense(false), deferred(true);
  for (Training* each : {&dense, &deferred}) {
    each->gradient[3 * kColumns] = each->gradient[5 * kColumns] = 1.0f;
  }
  dense.optimizer->step(0.1);
  deferred.optimizer->prepare_rows({3, 3});
  deferred.optimizer->prepare_rows({5, 3});
  deferred.optimizer->step(0.1);
  EXPECT_EQ(deferred.gradient, dense.gradient);
  deferred.optimizer->flush_rows();
  EXPECT_EQ(dense.weights, deferred.weights);
}

TEST(FlatOptimizer, ExtrasHaveTheirOwnLearningRateAndCountForTheNorm) {
  OptimizerOptions options;
  options.clip_norm = 0.0;
  std::vector<float> weights = {1.0f, 1.0f}, gradient = {3.0f, 0.0f};
  std::vector<float> temperature = {1.0f}, temperature_gradient = {4.0f};
  std::vector<float> head = {1.0f}, head_gradient = {0.0f};
  FlatOptimizer optimizer(
      options, {{"w", {2}, 0, 2, false}}, view_of(weights), view_of(gradient), {},
      {{"temperature", view_of(temperature), view_of(temperature_gradient), 50.0, false},
       {"head", view_of(head), view_of(head_gradient), 1.0, true}});
  const double norm = optimizer.step(0.001);
  EXPECT_NEAR(norm, 5.0, 1e-12);
  EXPECT_NEAR(weights[0], 1.0 - 0.001, 1e-6);  // a first step has the size of the rate
  EXPECT_NEAR(temperature[0], 1.0 - 0.05, 1e-5);
  EXPECT_NEAR(head[0], 1.0 - 0.001 * 0.01, 1e-7);  // decays, and has no gradient
  EXPECT_EQ(weights[1], 1.0f);
  EXPECT_EQ(temperature_gradient[0], 0.0f);
  EXPECT_EQ(optimizer.state().first_moment.size(), 4u);
}

TEST(FlatOptimizer, AnExtraMovesAsAWeightOfTheFlatArrayDoes) {
  constexpr int64_t kSize = 30000;  // a head's matrix
  for (const OptimizerOptions& options : all_rules()) {
    SCOPED_TRACE(options_to_json(options));
    for (const bool decays : {false, true}) {
      std::vector<float> weights = random_floats(kSize, "head"), head = weights;
      std::vector<float> gradient(kSize), same(kSize);
      FlatOptimizer flat(options, {{"w", {kSize}, 0, kSize, decays}}, view_of(weights),
                         view_of(gradient));
      FlatOptimizer extra(options, {}, {}, {}, {},
                          {{"head", view_of(head), view_of(same), 2.0, decays}});
      for (int64_t number = 1; number <= 4; ++number) {
        const bool none = number == 3;  // a step in which the head has no part
        if (!none) {
          const auto drawn = random_floats(kSize, "gradient" + std::to_string(number));
          std::copy(drawn.begin(), drawn.end(), gradient.begin());
          std::copy(drawn.begin(), drawn.end(), same.begin());
        }
        EXPECT_EQ(flat.step(0.02), extra.step(0.01));
      }
      EXPECT_EQ(head, weights);
    }
  }
}

TEST(FlatOptimizer, AFrozenEncoderLeavesOnlyTheExtras) {
  std::vector<float> head = {1.0f}, gradient = {0.5f};
  FlatOptimizer optimizer({}, {}, {}, {}, {}, {{"head", view_of(head), view_of(gradient), 1.0}});
  optimizer.prepare_rows({3, 70000});
  EXPECT_EQ(optimizer.step(0.01), 0.5);
  optimizer.flush_rows();
  EXPECT_NEAR(head[0], 0.99f, 1e-6);
  EXPECT_EQ(gradient[0], 0.0f);
  EXPECT_TRUE(optimizer.state().learning_rates.empty());

  std::vector<float> later = head, same = {0.25f};
  FlatOptimizer resumed({}, {}, {}, {}, {}, {{"head", view_of(later), view_of(same), 1.0}});
  resumed.load_state(optimizer.state());
  gradient[0] = 0.25f;
  optimizer.step(0.01);
  resumed.step(0.01);
  EXPECT_EQ(later, head);

  gradient[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(optimizer.step(0.01)));
  EXPECT_EQ(later, head);
}

TEST(FlatOptimizer, SgdKeepsOneMomentAndHasAName) {
  OptimizerOptions options;
  options.name = "sgd";
  Training training(true, options);
  EXPECT_EQ(training.optimizer->state().first_moment.size(), training.weights.size());
  EXPECT_TRUE(training.optimizer->state().second_moment.empty());
  options.name = "lion";
  try {
    const Training refused(true, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
  }
}

TEST(FlatOptimizer, ANormThatIsNotFiniteChangesNothing) {
  Training training(true);
  training.step(1, true);
  const std::vector<float> weights = training.weights;
  const OptimizerState state = training.optimizer->state();
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    training.gradient.back() = bad;
    EXPECT_FALSE(std::isfinite(training.optimizer->step(0.1)));
    EXPECT_EQ(training.gradient.back(), 0.0f);
  }
  EXPECT_EQ(training.weights, weights);
  EXPECT_EQ(training.optimizer->state().step, state.step);
  EXPECT_EQ(training.optimizer->state().first_moment, state.first_moment);
}

TEST(FlatOptimizer, WrongLayoutsIdsAndStatesAreErrors) {
  const torch::Tensor weights = torch::zeros({10}), gradient = torch::zeros({10});
  const OptimizerOptions options;
  EXPECT_THROW(FlatOptimizer(options, {{"w", {4}, 2, 4, true}}, weights, gradient), Error);
  EXPECT_THROW(FlatOptimizer(options, {{"w", {2, 2}, 0, 4, true}}, weights, gradient, {0, 2, 3}),
               Error);
  EXPECT_THROW(deferred_table({"bias", {4}, 0, 4, false}), Error);
  Training training(true);
  EXPECT_THROW(training.optimizer->prepare_rows({static_cast<int32_t>(kRows)}), Error);
  EXPECT_THROW(training.optimizer->prepare_rows({-1}), Error);

  const OptimizerState good = training.optimizer->state();
  std::vector<OptimizerState> bad(5, good);
  bad[0].first_moment.pop_back();
  bad[1].second_moment.push_back(0.0f);
  bad[2].row_steps.clear();
  bad[3].row_steps[0] = 1;
  bad[4].step = 1;  // rows at step 0, no learning rate to replay it with
  for (const OptimizerState& state : bad)
    EXPECT_THROW(training.optimizer->load_state(state), Error);
}

}  // namespace
}  // namespace simile
