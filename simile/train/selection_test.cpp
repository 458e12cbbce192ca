// SPDX-License-Identifier: Apache-2.0
#include "simile/train/selection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "simile/data/detail/packed_files_test.h"

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
      {2,
       0.0,
       "max",
       {0.8493035992999366, 0.8493035992999368, 0.1},
       2,
       0},  // equal but for rounding
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Numbers = std::vector<double>;

StageOptions stage_of(double learning_rate) {
  StageOptions options;
  options.name = "two";
  options.learning_rate = learning_rate;
  return options;
}

// The log of a stage "two", behind another one: evaluations at equal distances from step 0 on, and
// a loss for each step.
std::string log_of(const Numbers& map, const Numbers& losses) {
  std::string log =
      R"({"stage":"one","step":1,"epoch":1.0,"loss":9.0,"gradient_norm":1.0,"learning_rate":0.1})"
      "\n"
      R"({"stage":"one","step":1,"epoch":1.0,"evaluation":"dev","metrics":{"map":0.9}})"
      "\n";
  const size_t interval = map.size() > 1 ? losses.size() / (map.size() - 1) : 1;
  const auto evaluate = [&](size_t step) {
    if (step % interval != 0 || step / interval >= map.size()) return;
    log += fmt::format(
        R"({{"stage":"two","step":{},"epoch":0.0,"evaluation":"dev","metrics":{{"map":{},"mrr":0.5}}}})"
        "\n",
        step, map[step / interval]);
  };
  evaluate(0);
  for (size_t i = 0; i < losses.size(); ++i) {
    log += fmt::format(
        R"({{"stage":"two","step":{},"epoch":0.0,"loss":{},"gradient_norm":1.0,"learning_rate":0.1}})"
        "\n",
        i + 1, losses[i]);
    evaluate(i + 1);
  }
  return log;
}

TEST(SelectionRules, TheTableOfMetricsSaysWhichEndIsBetter) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"dev.spearman", "max"},    {"dev.spearman:2012", "max"}, {"dev.pearson_wmean", "max"},
      {"dev.ndcg@10", "max"},     {"dev.recall@100", "max"},    {"dev.f1", "max"},
      {"dev.macro_f1", "max"},    {"geo.alignment", "min"},     {"geo.uniformity", "min"},
      {"geo.mean_cosine", "min"}, {"geo.pc@1", "min"},          {"geo.pc@10", "min"},
      {"geo.perplexity", "min"},  {"loss.all", "min"},          {"loss.mnrl", "min"}};
  for (const auto& [metric, direction] : cases) {
    SelectionOptions options;
    options.metric = {metric};
    EXPECT_EQ(selection_rules(options).direction, direction) << metric;
    options.early_stop.direction = "max";
    EXPECT_EQ(selection_rules(options).direction, "max") << metric;
  }
  EXPECT_EQ(selection_rules({}).direction, "max");
}

TEST(SelectionRules, AFractionIsShownTimesAHundredWhateverItsDirection) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"dev.map", "dev.map 41.25"},
      {"geo.alignment", "geo.alignment 0.4125"},
      {"geo.mean_cosine", "geo.mean_cosine 41.25"},
      {"loss.all", "loss.all 0.4125"}};
  for (const auto& [metric, text] : cases) {
    SelectionOptions options;
    options.metric = {metric};
    EXPECT_EQ(describe_selection(options, 0.4125, false), text);
  }
}

class StageCourseTest : public ::testing::Test, protected TestFiles {
 protected:
  StageCourse course(const Numbers& map, const Numbers& losses, double learning_rate = 2e-4,
                     const std::vector<std::string>& metrics = {"dev.map"}) const {
    return read_stage_course(write("metrics.jsonl", log_of(map, losses)), stage_of(learning_rate),
                             metrics);
  }
};

const Numbers kFalling = {4, 3.9, 3.8, 3.5, 3, 2.8, 2.5, 2.2, 2, 1.9, 1.8, 1.7};
const Numbers kLevel = {4,   4.1, 4.2, 4.1, 4,   4.1,
                        4.1, 4.2, 4.1, 4,   4.1, 2.5};  // a small last batch

TEST_F(StageCourseTest, IsReadFromTheLinesOfItsStage) {
  const StageCourse read = course({0.2, 0.1, 0.3}, kFalling);
  EXPECT_EQ(read.metric, "dev.map");
  EXPECT_EQ(read.steps, 12);
  ASSERT_EQ(read.values.size(), 3u);
  EXPECT_EQ(read.values[1].x, 6);
  EXPECT_EQ(read.values[1].y, 0.1);
  EXPECT_EQ(read.best().x, 12);
  EXPECT_FALSE(read.is_start_best());
  // Medians of the first and the last five.
  EXPECT_NEAR(*read.loss_change, (1.9 - 3.8) / 3.8, 1e-12);
  EXPECT_NEAR(*course({0.2, 0.1}, kLevel).loss_change, 0, 1e-12);
  EXPECT_FALSE(course({0.2, 0.1}, {4, 3, 2}).loss_change);
  const StageCourse mean = course({0.2, 0.1}, kFalling, 2e-4, {"dev.map", "dev.mrr"});
  EXPECT_EQ(mean.metric, "mean of dev.map, dev.mrr");
  EXPECT_DOUBLE_EQ(mean.values[0].y, 0.35);
  EXPECT_TRUE(mean.is_start_best());
  EXPECT_THAT(course({0.2}, kFalling, 2e-4, {"dev.p@1"}).values, IsEmpty());
}

TEST_F(StageCourseTest, ATieKeepsTheStart) {
  EXPECT_TRUE(course({0.2, 0.2, 0.1}, kFalling).is_start_best());
  EXPECT_FALSE(course({0.2, 0.1, 0.2000001}, kFalling).is_start_best());
}

TEST_F(StageCourseTest, ARateThatRuinsTheModelIsNamedFirst) {
  EXPECT_THAT(likely_causes(course({0.2, 0.02, 0.01, 0.02}, kLevel, 3e-2)),
              ElementsAre(AllOf(StartsWith("the learning rate 0.03 is too high: dev.map was worse "
                                           "at every evaluation"),
                                HasSubstr("and the training loss stayed as it was"),
                                HasSubstr("try 0.003")),
                          StartsWith("the training data do not fit what dev.map asks: ")));
}

TEST_F(StageCourseTest, DataUnlikeDevAreNamedFirstWhereTheLossFell) {
  EXPECT_THAT(likely_causes(course({0.4, 0.3, 0.25, 0.2}, kFalling)),
              ElementsAre(AllOf(StartsWith("the training data do not fit what dev.map asks"),
                                HasSubstr("the training loss fell by 50 %")),
                          StartsWith("the learning rate 0.0002 is too high")));
}

TEST_F(StageCourseTest, WhatHardlyMovedWasTrainedTooLittle) {
  EXPECT_THAT(likely_causes(course({0.4, 0.3999, 0.3995}, kLevel, 1e-8)),
              ElementsAre(AllOf(StartsWith("the learning rate 1e-08 is too low, or 12 steps are "
                                           "too few: dev.map moved by at most 0.05"),
                                HasSubstr("try learning_rate 1e-07"))));
  // A loss that fell shows that the rate was high enough.
  EXPECT_THAT(likely_causes(course({0.4, 0.3999, 0.3995}, kFalling)),
              ElementsAre(StartsWith("the learning rate"),
                          HasSubstr("does not bear on dev.map: the training loss fell by 50 %")));
}

TEST_F(StageCourseTest, StepsWithoutAGradientAreTheOnlyCause) {
  StageCourse still = course({0.4, 0.4, 0.4}, kLevel);
  EXPECT_EQ(still.largest_gradient, 1.0);
  still.largest_gradient = 1e-14;
  EXPECT_THAT(likely_causes(still), ElementsAre(StartsWith("no step had a gradient")));
}

TEST_F(StageCourseTest, OtherCausesFollowWhatTheEvaluationsDid) {
  EXPECT_THAT(likely_causes(course({0.4, 0.35, 0.4, 0.3995}, kFalling)),
              ElementsAre(AllOf(StartsWith("the start is hard to better with these data"),
                                HasSubstr("went at most 5.00 away from it"))));
  StageCourse small = course({0.4, 0.35, 0.4, 0.3995}, kFalling);
  small.examples = 30;
  EXPECT_THAT(likely_causes(small),
              ElementsAre(HasSubstr("hard to better"),
                          StartsWith("30 examples hardly tell differences of 5.00")));
  small.examples = 300;
  EXPECT_EQ(likely_causes(small).size(), 1u);
  EXPECT_THAT(likely_causes(course({0.99, 0.9, 0.9, 0.9}, kFalling)),
              ElementsAre(HasSubstr("almost at its best already (99.00 of 100)"), HasSubstr("data"),
                          HasSubstr("learning rate")));
  EXPECT_THAT(likely_causes(course({0.4, 0.3}, kFalling)),
              ElementsAre(HasSubstr("data"), HasSubstr("learning rate"),
                          HasSubstr("there was one evaluation after the start")));
  EXPECT_THAT(likely_causes(course({0.4, 0.5, 0.3, 0.2}, kFalling)),
              ElementsAre(HasSubstr("dev.map was best at step 4 of 12 (50.00), but the last")));
  EXPECT_THAT(likely_causes(course({0.4}, {})), ElementsAre(StartsWith("no step was taken")));
}

TEST_F(StageCourseTest, OfALossLowerIsBetter) {
  const std::string log =
      write("metrics.jsonl",
            R"({"stage":"two","step":0,"epoch":0.0,"evaluation":"loss","metrics":{"all":2.0}}
{"stage":"two","step":1,"epoch":0.5,"loss":1.0}
{"stage":"two","step":1,"epoch":0.5,"evaluation":"loss","metrics":{"all":2.5}}
{"stage":"two","step":2,"epoch":0.5,"evaluation":"loss","metrics":{"all":3}}
{"stage":"two","step":3,"epoch":0.5,"evaluation":"loss","metrics":{"all":2.75}}
)");
  StageOptions options = stage_of(0.1);
  options.selection.metric = {"loss.all"};
  const StageCourse read = read_stage_course(log, options, {"loss.all"});
  EXPECT_FALSE(read.is_fraction);
  EXPECT_TRUE(read.is_start_best());
  EXPECT_EQ(read.show(2.5), "2.5000");
  EXPECT_THAT(likely_causes(read)[0], StartsWith("the learning rate 0.1 is too high: loss.all"));
}

}  // namespace
}  // namespace simile
