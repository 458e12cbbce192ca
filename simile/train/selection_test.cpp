// SPDX-License-Identifier: Apache-2.0
#include "simile/train/selection.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace simile {
namespace {

// The number of the evaluation after which training stops, or -1.
int64_t stopped_after(EarlyStop& stop, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    stop.update(values[i]);
    if (stop.should_stop()) return static_cast<int64_t>(i);
  }
  return -1;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(EarlyStop, FindsTheBestAndStops) {
  struct Case {
    int64_t patience;
    double minimum_improvement;
    const char* direction;
    std::vector<double> values;
    int64_t stopped;
    int64_t best;
  };
  const std::vector<Case> cases = {
      {0, 0.0, "max", {3, 2, 1, 0, 0, 0}, -1, 0},
      {2, 0.0, "max", {1, 3, 2, 2}, 3, 1},
      {2, 0.0, "max", {1, 3, 2, 4, 3, 3}, 5, 3},
      {2, 0.0, "min", {1, 3, 0.5, 2, 2}, 4, 2},
      {2, 0.0, "max", {1, 1, 1}, 2, 0},               // ties keep the earlier
      {2, 0.1, "max", {1, 1.05, 1.08, 2}, 2, 2},      // better, but not by enough
      {2, 0.1, "max", {1, 1.06, 1.12, 1.18}, -1, 3},  // small gains add up
      {2, 0.0, "max", {kNaN, 1, kNaN, kNaN}, 3, 1},
      {1, 0.0, "min", {-1, -2, -3}, -1, 2},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    EarlyStop stop({c.patience, c.minimum_improvement, c.direction});
    EXPECT_EQ(stopped_after(stop, c.values), c.stopped) << "case " << i;
    EXPECT_EQ(stop.state().best_evaluation, c.best) << "case " << i;
  }
}

TEST(EarlyStop, SaysWhichValuesAreTheBestSoFar) {
  EarlyStop stop(EarlyStopOptions{});
  EXPECT_TRUE(stop.update(0.1));
  EXPECT_FALSE(stop.update(0.1));
  EXPECT_FALSE(stop.update(kNaN));
  EXPECT_TRUE(stop.update(0.2));
  EXPECT_EQ(stop.state().best_value, 0.2);
  EXPECT_EQ(stop.state().evaluations, 4);
}

TEST(EarlyStop, ContinuesFromItsState) {
  const EarlyStopOptions options{2, 0.0, "max"};
  EarlyStop first(options), second(options);
  first.update(2.0);
  first.update(1.0);
  second.load_state(first.state());
  EXPECT_FALSE(second.update(1.5));
  EXPECT_TRUE(second.should_stop());
}

}  // namespace
}  // namespace simile
