// SPDX-License-Identifier: Apache-2.0
#include "simile/report/example_interval.h"

#include <gmock/gmock.h>

#include "simile/core/error.h"
#include "simile/report/comparison.h"
#include "simile/report/detail/run_fixture.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

constexpr double kOneSwap = 1 - 12.0 / 990;
constexpr int64_t kSamples = 200;

std::string right_pairs() {
  return scored_pairs([](int i) { return i; });
}

// Those of a model that is right in any sample: its difference from another tells the other's.
void expect_one_less(const std::vector<std::string>& folders,
                     const std::vector<std::string>& right) {
  ComparisonOptions options;
  options.samples = kSamples;
  const Comparison comparison =
      compare_runs({"one", folders}, {"right", right}, options, silent_events());
  const ComparedMetric& metric = comparison.reports[0].metrics[0];
  std::string problem;
  const std::optional<FigureInterval> figure =
      example_interval(folders, "test.spearman", kSamples, problem);
  EXPECT_EQ(problem, "");
  ASSERT_TRUE(figure && metric.interval);
  EXPECT_NEAR(figure->value, 1 - metric.difference, 1e-12);
  EXPECT_NEAR(figure->interval.low, 1 - metric.interval->high, 1e-12);
  EXPECT_NEAR(figure->interval.high, 1 - metric.interval->low, 1e-12);
  EXPECT_LT(figure->interval.low, figure->interval.high);
}

TEST(ExampleInterval, DrawsTheExamplesOfSeedsAsAComparisonDoes) {
  const RunFixture files;
  std::vector<std::string> runs, right;
  for (const int seed : {1, 2, 3}) {
    runs.push_back(files.run(fmt::format("a{}", seed), seed, kOneSwap, swapped_pairs(seed)));
    right.push_back(files.run(fmt::format("b{}", seed), seed, 1, right_pairs()));
  }
  expect_one_less({runs[0]}, {right[0]});
  expect_one_less(runs, right);
}

TEST(ExampleInterval, DrawsTheExamplesOfFoldsAsAComparisonDoes) {
  const RunFixture files;
  expect_one_less({files.folds("a", 1, kOneSwap, {swapped_pairs(2), swapped_pairs(5)}),
                   files.folds("c", 2, kOneSwap, {swapped_pairs(3), swapped_pairs(6)})},
                  {files.folds("b", 1, 1, {right_pairs(), right_pairs()}),
                   files.folds("d", 2, 1, {right_pairs(), right_pairs()})});
}

TEST(ExampleInterval, NoneWithoutWhatItIsMadeOf) {
  const RunFixture files;
  const auto problem_of = [](const std::string& folder, const char* metric) {
    std::string problem;
    const bool has_interval = example_interval({folder}, metric, kSamples, problem).has_value();
    EXPECT_EQ(has_interval, problem.empty());
    return problem;
  };
  const std::string run = files.run("a", 1, kOneSwap, swapped_pairs(2));
  EXPECT_EQ(problem_of(run, "test.spearman"), "");
  EXPECT_THAT(problem_of(run, "test.pearson"), HasSubstr("is not computed from predictions"));
  EXPECT_THAT(problem_of(run, "dev.spearman"), HasSubstr("no evaluation 'dev'"));
  EXPECT_THAT(problem_of(files.run("b", 1, kOneSwap, ""), "test.spearman"),
              HasSubstr("no predictions of 'test'"));
  EXPECT_THAT(problem_of(files.run("c", 1, 0.5, swapped_pairs(2)), "test.spearman"),
              HasSubstr("of another evaluation"));
}

TEST(ExampleInterval, RunsOfOtherExamplesAreRefused) {
  const RunFixture files;
  std::string other = right_pairs(), problem;
  other.replace(other.find("left 3"), 6, "left 4");
  EXPECT_THAT(error_of([&] {
                example_interval({files.run("a", 1, 1, right_pairs()), files.run("b", 2, 1, other)},
                                 "test.spearman", kSamples, problem);
              }),
              HasSubstr("example 4 differs"));
}

}  // namespace
}  // namespace simile
