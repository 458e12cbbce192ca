// SPDX-License-Identifier: Apache-2.0
#include "simile/train/optimizer_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "simile/core/error.h"

namespace simile {
namespace {

TEST(Schedule, HasTheLiteralFactors) {
  struct Case {
    const char* name;
    int64_t warmup;
    int64_t step;
    double factor;
  };
  const std::vector<Case> cases = {
      {"linear", 2, 0, 0.0},
      {"linear", 2, 1, 0.5},
      {"linear", 2, 2, 1.0},
      {"linear", 2, 6, 0.5},
      {"linear", 2, 9, 0.125},
      {"linear", 2, 10, 0.0},
      {"linear", 2, 99, 0.0},
      {"linear", 0, 0, 1.0},
      {"linear", 10, 9, 1.0},
      {"cosine", 2, 1, 0.5},
      {"cosine", 2, 2, 1.0},
      {"cosine", 2, 6, 0.5},
      {"cosine", 2, 4, 0.85355339059327373},
      {"cosine", 2, 10, 0.0},
      {"constant", 2, 1, 0.5},
      {"constant", 2, 2, 1.0},
      {"constant", 2, 99, 1.0},
  };
  for (const Case& c : cases) {
    const ScheduleOptions options{c.name, 0.5, c.warmup};
    EXPECT_NEAR(schedule_factor(options, c.step, 10), c.factor, 1e-15)
        << c.name << " warm-up " << c.warmup << " step " << c.step;
  }
}

TEST(Schedule, WarmupIsAFractionRoundedUpOrANumberOfSteps) {
  const std::vector<std::tuple<double, int64_t, int64_t, int64_t>> cases = {
      {0.1, -1, 100, 10}, {0.1, -1, 30, 3},   {0.1, -1, 31, 4}, {0.0, -1, 50, 0},
      {1.0, -1, 7, 6},    {0.1, 25, 100, 25}, {0.1, 0, 100, 0}, {0.1, 500, 100, 99},
      {0.1, -1, 1, 0},    {0.1, 1, 1, 0},     {0.7, -1, 10, 7},
  };
  for (const auto& [fraction, steps, total, expected] : cases) {
    EXPECT_EQ(warmup_step_count(ScheduleOptions{"linear", fraction, steps}, total), expected)
        << fraction << " " << steps << " " << total;
  }
}

TEST(Schedule, TheFirstStepOfAWarmupMovesNothing) {
  EXPECT_EQ(first_trained_step(ScheduleOptions{"linear", 0.1, -1}, 100), 2);
  EXPECT_EQ(first_trained_step(ScheduleOptions{"linear", 0.0, -1}, 100), 1);
  EXPECT_EQ(first_trained_step(ScheduleOptions{"constant", 0.1, 0}, 100), 1);
}

TEST(Schedule, UnknownNameIsAnError) {
  EXPECT_THROW(schedule_factor(ScheduleOptions{"step", 0.0, 0}, 1, 10), Error);
}

// As PyTorch's optimisers: 0.01 in adamw, and nothing in the gradient of the others.
TEST(OptimizerRule, OnlyAdamWDecaysByDefault) {
  for (const char* name : {"adamw", "adam", "adamax", "sgd"}) {
    OptimizerOptions options;
    options.name = name;
    const StepConstants c = OptimizerRule(options).constants(1, 1e-3, true);
    EXPECT_EQ(c.decay, options.name == "adamw" ? 0.01f : 0.0f) << name;
    EXPECT_EQ(c.l2, 0.0f) << name;
  }
}

TEST(OptimizerRule, ADecayThatIsGivenIsTheNamedOptimisers) {
  for (const char* name : {"adamw", "adam", "adamax", "sgd"}) {
    OptimizerOptions options;
    read_json_options(R"({"name": ")" + std::string(name) + R"(", "weight_decay": 0.01})", "test",
                      options);
    const StepConstants c = OptimizerRule(options).constants(1, 1e-3, true);
    EXPECT_EQ(c.decay, options.name == "adamw" ? 0.01f : 0.0f) << name;
    EXPECT_EQ(c.l2, options.name == "adamw" ? 0.0f : 0.01f) << name;
  }
}

}  // namespace
}  // namespace simile
