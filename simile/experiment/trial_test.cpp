// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/trial.h"

#include <gtest/gtest.h>

#include <limits>

namespace simile {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The values of a stage of four steps, beginning before the first.
SelectedValues values_of(const std::vector<double>& numbers) {
  SelectedValues values;
  for (const double number : numbers) {
    const auto step = static_cast<int64_t>(values.size());
    values.push_back({"train", step, static_cast<double>(step) / 4, number});
  }
  return values;
}

Trial trial_of(const std::vector<double>& numbers, Trial::State state = Trial::State::kFinished) {
  Trial trial;
  trial.state = state;
  trial.values = values_of(numbers);
  return trial;
}

TEST(TrialJudgeTest, HigherOrLowerIsBetterAndNoNumberIsTheWorst) {
  const TrialJudge higher, lower(true);
  EXPECT_TRUE(higher.is_better(2, 1));
  EXPECT_FALSE(higher.is_better(1, 1));
  EXPECT_TRUE(lower.is_better(1, 2));
  EXPECT_TRUE(higher.is_better(1, kNone));
  EXPECT_FALSE(higher.is_better(kNone, 1));
  EXPECT_FALSE(lower.is_better(kNone, kNone));
  EXPECT_EQ(higher.cost(2), -2);
  EXPECT_EQ(lower.cost(2), 2);
}

TEST(TrialJudgeTest, TheBestOfTheFirstValues) {
  const SelectedValues values = values_of({kNone, 3, 1, 5});
  EXPECT_EQ(TrialJudge().best_of(values, 1), std::nullopt);
  EXPECT_EQ(TrialJudge().best_of(values, 3), 3);
  EXPECT_EQ(TrialJudge().best_of(values, 9), 5);
  EXPECT_EQ(TrialJudge(true).best_of(values, 9), 1);
}

TEST(TrialJudgeTest, ATrialIsWorthTheWeightsItKeeps) {
  const TrialJudge judge;
  Trial trial = trial_of({1, 4, 2});
  EXPECT_EQ(judge.result_of(trial), 4);
  trial.keeps_best = false;
  EXPECT_EQ(judge.result_of(trial), 2);
  trial.values.back().value = kNone;
  EXPECT_EQ(judge.result_of(trial), std::nullopt);
  EXPECT_EQ(judge.result_of(trial_of({1, 4}, Trial::State::kFailed)), std::nullopt);
  EXPECT_EQ(judge.result_of(trial_of({})), std::nullopt);
}

TEST(TrialJudgeTest, StopsAtTheFirstValueAfterAPartOfTheSteps) {
  const SelectedValues values = values_of({1, 2, 3, 4, 5});
  EXPECT_EQ(count_until(values, 0), 2) << "the value before the first step is no part";
  EXPECT_EQ(count_until(values, 0.25), 2);
  EXPECT_EQ(count_until(values, 0.3), 3);
  EXPECT_EQ(count_until(values, 1), 5);
  EXPECT_EQ(count_until(values_of({1, 2}), 0.5), 2);
  EXPECT_TRUE(has_stopped(values, stop_at(0.5)));
  EXPECT_FALSE(has_stopped(values_of({1, 2}), stop_at(0.5)));
  EXPECT_FALSE(has_stopped(values, stop_at(1))) << "what is whole was not ended";
  EXPECT_TRUE(is_early(values[3]));
  EXPECT_FALSE(is_early(values[4]));
}

TEST(TrialJudgeTest, IsHopelessBelowTheMedianOfFiveOthers) {
  const TrialJudge judge;
  std::vector<Trial> others;
  for (const double value : {1.0, 2.0, 3.0, 4.0}) others.push_back(trial_of({0, value, 9}));
  const auto is_hopeless = [&](const std::vector<double>& numbers) {
    return judge.is_hopeless(values_of(numbers), others.data(), others.size());
  };
  EXPECT_FALSE(is_hopeless({0, 0.5})) << "four others say nothing";
  others.push_back(trial_of({0, 5}));
  EXPECT_TRUE(is_hopeless({0, 2.9}));
  EXPECT_FALSE(is_hopeless({0, 3}));
  EXPECT_FALSE(is_hopeless({-1})) << "nothing was trained yet";
  EXPECT_TRUE(is_hopeless({kNone, kNone}));
  EXPECT_FALSE(is_hopeless({0, 2.9, 2.9})) << "only four came so far";
  others[0].state = Trial::State::kFailed;
  EXPECT_FALSE(is_hopeless({0, 2.9}));
}

}  // namespace
}  // namespace simile
