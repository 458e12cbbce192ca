// SPDX-License-Identifier: Apache-2.0
#include "simile/report/comparison.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/report/detail/run_fixture_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

constexpr double kOneSwap = 1 - 12.0 / 990;

ComparisonOptions few_samples() {
  ComparisonOptions options;
  options.samples = 200;
  return options;
}

Comparison compare(const std::string& a, const std::string& b,
                   const ComparisonOptions& options = few_samples()) {
  return compare_runs(a, b, options, silent_events());
}

// Runs of seeds 1, 2, 3 with these values of spearman and no predictions.
std::string make_runs(const RunFixture& files, const std::string& name,
                      const std::vector<double>& values, int first_seed = 1) {
  for (size_t i = 0; i < values.size(); ++i) {
    files.run(fmt::format("{}/run-{}", name, i + 1), first_seed + static_cast<int>(i), values[i],
              "");
  }
  return files.path(name);
}

TEST(Comparison, OfTwoRunsHasAnIntervalAndAWarning) {
  const RunFixture files;
  const std::string right = scored_pairs([](int i) { return i; });
  const Comparison result =
      compare(files.run("a", 1, kOneSwap, swapped_pairs(3)), files.run("b", 1, 1, right));
  ASSERT_EQ(result.reports.size(), 1u);
  ASSERT_EQ(result.reports[0].metrics.size(), 1u);
  const ComparedMetric& metric = result.reports[0].metrics[0];
  EXPECT_EQ(metric.name, "spearman");
  EXPECT_NEAR(metric.difference, 12.0 / 990, 1e-12);
  EXPECT_FALSE(metric.t_test);
  EXPECT_FALSE(metric.permutation);
  ASSERT_TRUE(metric.interval);
  // B orders all pairs right, in any sample.
  EXPECT_GE(metric.interval->low, 0);
  EXPECT_GT(metric.interval->high, metric.difference);
  EXPECT_LT(metric.interval->high, 0.5);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("one seed"), HasSubstr("one seed")));
}

TEST(Comparison, OfARunAndItsModelTogetherWithBm25) {
  const RunFixture files;
  const std::string a = files.run("a", 1, kOneSwap, swapped_pairs(3));
  const std::string hybrid = "hybrid:" + a;
  try {
    compare(a, hybrid);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("`hybrid` among its baselines"));
  }
  files.write_in("a", "results.json",
                 R"({"seconds":1,"reports":[
{"task":"sts","name":"test","model":"own","examples":10,"metrics":{"spearman":0.98787878787878789}},
{"task":"sts","name":"test","model":"hybrid:zero-shot","examples":10,"metrics":{"spearman":0.1}},
{"task":"sts","name":"test","model":"hybrid:own","examples":10,"metrics":{"spearman":1}}]})");
  files.write_in("a", "predictions/hybrid/test.tsv", scored_pairs([](int i) { return i; }));
  const Comparison result = compare(a, hybrid);
  ASSERT_EQ(result.reports.size(), 1u);
  const ComparedMetric& metric = result.reports[0].metrics[0];
  EXPECT_NEAR(metric.difference, 12.0 / 990, 1e-12);
  ASSERT_TRUE(metric.interval);
  EXPECT_GE(metric.interval->low, 0);
  EXPECT_THAT(result.to_table(), HasSubstr("B: " + hybrid));
}

TEST(Comparison, ARunThatKeptItsStartIsWarnedOf) {
  const RunFixture files;
  const std::string a = make_runs(files, "a", {0.5, 0.6}), b = make_runs(files, "b", {0.6, 0.7});
  EXPECT_THAT(compare(a, b).warnings, testing::Each(Not(HasSubstr("before the first step"))));
  files.keep_start("b/run-2");
  EXPECT_THAT(compare(a, b).warnings,
              testing::Contains(HasSubstr(files.path("b") + "': 1 of 2 runs kept the weights "
                                                            "before the first step")));
}

TEST(Comparison, OfSeedsTestsThePairedDifferences) {
  const RunFixture files;
  const std::string a = make_runs(files, "a", {0.50, 0.52, 0.51});
  const std::string b = make_runs(files, "b", {0.53, 0.54, 0.55});
  const Comparison result = compare(a, b);
  const ComparedMetric& metric = result.reports[0].metrics[0];
  // Differences 0.03, 0.02, 0.04: t = 0.03 / (0.01 / sqrt 3), 2 degrees.
  EXPECT_NEAR(metric.difference, 0.03, 1e-12);
  ASSERT_TRUE(metric.t_test && metric.permutation);
  EXPECT_NEAR(metric.t_test->t, 3 * std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(metric.t_test->p, 0.035098, 1e-5);
  EXPECT_DOUBLE_EQ(metric.permutation->p, 0.25);
  EXPECT_NEAR(metric.a.deviation, 0.01, 1e-12);
  EXPECT_FALSE(metric.interval);
  EXPECT_THAT(result.warnings,
              ElementsAre(HasSubstr("no predictions of 'test'"), HasSubstr("no predictions")));
  EXPECT_THAT(result.to_table(),
              AllOf(HasSubstr("(3 runs, seeds 1 2 3)"), HasSubstr("test (sts, 10 examples)"),
                    HasSubstr("51.00 +- 1.00  54.00 +- 1.00  +3.00 *    0.0351         0.2500"),
                    HasSubstr("Permutations: all 8")));
  const Json json = Json::parse(result.to_json());
  const Json& m = json["reports"][0]["metrics"][0];
  EXPECT_EQ(m["a"]["values"], Json({0.50, 0.52, 0.51}));
  EXPECT_EQ(m["permutation_test"]["permutations"], 8);
  EXPECT_EQ(m["t_test"]["degrees"], 2);
  EXPECT_FALSE(m.contains("interval"));
  EXPECT_EQ(json["b"]["seeds"], Json({1, 2, 3}));
}

TEST(Comparison, RunsArePairedBySeedWhateverTheirFolder) {
  const RunFixture files;
  files.run("a/run-1", 5, 0.1, "");
  files.run("a/run-2", 4, 0.2, "");
  files.run("b/run-1", 4, 0.3, "");
  files.run("b/run-2", 5, 0.2, "");
  const Comparison result = compare(files.path("a"), files.path("b"));
  EXPECT_THAT(result.a.seeds, ElementsAre(4, 5));
  EXPECT_THAT(result.reports[0].metrics[0].a_values, ElementsAre(0.2, 0.1));
  // Both differences are 0.1: only their signs matter, and half of the sign patterns are alike.
  EXPECT_EQ(result.reports[0].metrics[0].t_test->p, 0.5);
  EXPECT_DOUBLE_EQ(result.reports[0].metrics[0].permutation->p, 0.5);
}

TEST(Comparison, OfOtherSeedsIsRefused) {
  const RunFixture files;
  const std::string a = make_runs(files, "a", {0.5, 0.6});
  EXPECT_THAT(error_of([&] {
                compare(a, make_runs(files, "b", {0.5, 0.6}, 2));
              }),
              AllOf(HasSubstr("(1, 2)"), HasSubstr("(2, 3)"), HasSubstr("same `seed` and `runs`"),
                    HasSubstr("a/run-1")));
  EXPECT_THAT(error_of([&] {
                compare(a, make_runs(files, "c", {0.5, 0.6, 0.7}));
              }),
              AllOf(HasSubstr("has 2 (1, 2)"), HasSubstr("has 3 (1, 2, 3)")));
  // One run against several: no test, and a warning.
  const Comparison one = compare(a, files.run("d", 1, 0.5, ""));
  EXPECT_FALSE(one.reports[0].metrics[0].t_test);
  EXPECT_THAT(one.warnings[0], AllOf(HasSubstr("one seed"), HasSubstr("d'")));
}

TEST(Comparison, OfSeveralRunsResamplesTheirMean) {
  const RunFixture files;
  for (const int seed : {1, 2}) {
    files.run(fmt::format("a/run-{}", seed), seed, kOneSwap, swapped_pairs(seed));
    files.run(fmt::format("b/run-{}", seed), seed, kOneSwap, swapped_pairs(seed + 4));
  }
  const Comparison result = compare(files.path("a"), files.path("b"));
  const ComparedMetric& metric = result.reports[0].metrics[0];
  ASSERT_TRUE(metric.interval);
  EXPECT_LT(metric.interval->low, 0);
  EXPECT_GT(metric.interval->high, 0);
  EXPECT_EQ(metric.t_test->p, 1);
}

TEST(Comparison, SaysWhichSideIsBetterOnlyWhereSeedsAndExamplesAgree) {
  const RunFixture files;
  for (const int seed : {1, 2, 3, 4, 5, 6}) {
    const auto make = [&](const char* name, double value, const std::string& predictions) {
      files.run(fmt::format("{}/run-{}", name, seed), seed, value, predictions);
    };
    make("wrong", -1, scored_pairs([](int i) { return -i; }));
    make("right", 1, scored_pairs([](int i) { return i; }));
    make("near", kOneSwap, swapped_pairs(seed));
  }
  const auto better = [&](const char* a, const char* b) {
    const Comparison result = compare(files.path(a), files.path(b));
    return Json::parse(result.to_json())["reports"][0]["metrics"][0]["better"];
  };
  EXPECT_EQ(better("wrong", "right"), "B");
  EXPECT_EQ(better("right", "wrong"), "A");
  EXPECT_EQ(better("near", "right"), "undecided");
  EXPECT_EQ(better("near", "near"), "undecided");
  EXPECT_THAT(compare(files.path("wrong"), files.path("right")).to_table(),
              HasSubstr("permutation p  better"));
}

TEST(Comparison, AnExampleOfSeveralSeedsIsDrawnOnceWithAllOfThem) {
  const RunFixture files;
  ChosenRuns a{"a", {}}, b{"b", {}};
  Comparison one_seed;
  for (const int seed : {1, 2, 3, 4}) {
    a.folders.push_back(files.folds(fmt::format("a{}", seed), seed, kOneSwap,
                                    {swapped_pairs(2), swapped_pairs(3)}));
    b.folders.push_back(files.folds(fmt::format("b{}", seed), seed, kOneSwap,
                                    {swapped_pairs(6), swapped_pairs(7)}));
    const Comparison result = compare_runs(a, b, few_samples(), silent_events());
    EXPECT_EQ(result.reports[0].examples, 20);
    if (seed == 1) one_seed = result;
    // Seeds that say the same say no more of the examples than one of them.
    const ComparedMetric& metric = result.reports[0].metrics[0];
    ASSERT_TRUE(metric.interval);
    EXPECT_LT(metric.interval->low, metric.interval->high);
    EXPECT_NEAR(metric.interval->low, one_seed.reports[0].metrics[0].interval->low, 1e-12);
    EXPECT_NEAR(metric.interval->high, one_seed.reports[0].metrics[0].interval->high, 1e-12);
  }
}

TEST(Comparison, OfPredictionsAloneComputesTheMetrics) {
  const RunFixture files;
  const std::string a = files.write("a.tsv", swapped_pairs(2));
  const std::string b = files.write("b.tsv", swapped_pairs(5));
  const Comparison result = compare(a, b);
  ASSERT_EQ(result.reports[0].metrics.size(), 2u);
  EXPECT_EQ(result.reports[0].metrics[1].name, "pearson");
  EXPECT_NEAR(result.reports[0].metrics[0].a.mean, kOneSwap, 1e-12);
  EXPECT_TRUE(result.reports[0].metrics[0].interval);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(result.to_table(), Not(HasSubstr("seeds")));
  const std::string run = files.run("run", 1, kOneSwap, swapped_pairs(5));
  EXPECT_THAT(error_of([&] { compare(a, run); }),
              AllOf(HasSubstr("a.tsv' is a file"), HasSubstr("run/predictions")));
}

TEST(Comparison, SameBitsForAnyThreadsAndSeedTellsTheSamples) {
  const RunFixture files;
  const std::string a = files.write("a.tsv", swapped_pairs(2));
  const std::string b = files.write("b.tsv", swapped_pairs(5));
  const int threads = thread_count();
  set_thread_count(1);
  const std::string one = compare(a, b).to_json();
  set_thread_count(3);
  EXPECT_EQ(compare(a, b).to_json(), one);
  set_thread_count(threads);
  ComparisonOptions options = few_samples();
  options.seed = 2;
  EXPECT_NE(compare(a, b, options).to_json(), one);
}

TEST(Comparison, MetricsAreChosenByName) {
  const RunFixture files;
  const std::string a = files.run("a", 1, 0.5, ""), b = files.run("b", 1, 0.6, "");
  ComparisonOptions options = few_samples();
  options.metrics = {"test.spearman"};
  EXPECT_EQ(compare(a, b, options).reports[0].metrics.size(), 1u);
  options.metrics = {"spearman"};
  EXPECT_EQ(compare(a, b, options).reports[0].metrics.size(), 1u);
  options.metrics = {"spearman", "test.sperman"};
  EXPECT_THAT(error_of([&] { compare(a, b, options); }),
              AllOf(HasSubstr("no 'test.sperman'"), HasSubstr("did you mean 'test.spearman'")));
}

TEST(Comparison, WhatDoesNotBelongTogetherIsSaid) {
  const RunFixture files;
  const std::string a = files.run("a", 1, kOneSwap, swapped_pairs(2));
  std::string other = swapped_pairs(2);
  other.replace(other.find("left 4"), 6, "LEFT 4");
  EXPECT_THAT(error_of([&] { compare(a, files.run("b", 1, kOneSwap, other)); }),
              AllOf(HasSubstr("example 5 differs"), HasSubstr("LEFT 4")));
  // Predictions that are not those reported.
  const Comparison stale = compare(a, files.run("c", 1, 0.3, swapped_pairs(2)));
  EXPECT_FALSE(stale.reports[0].metrics[0].interval);
  EXPECT_THAT(stale.warnings, ::testing::Contains(HasSubstr("0.3000 in the report")));
  const std::string unfinished = files.write_in("d", "run.json", "{\"seed\":1}");
  EXPECT_THAT(error_of([&] { compare(a, files.path("d")); }),
              HasSubstr("no results.json: no evaluations, or not finished"));
  files.run("e", 1, 0.5, "");
  files.write_in(
      "e", "results.json",
      R"({"reports":[{"task":"sts","name":"dev","model":"m","metrics":{"spearman":1}}]})");
  EXPECT_THAT(error_of([&] { compare(a, files.path("e")); }),
              HasSubstr("no evaluation of the same name"));
  EXPECT_THAT(error_of([&] { compare(a, files.path("nothing")); }), HasSubstr("nothing"));
}

using ::testing::HasSubstr;

constexpr int64_t kSamples = 200;

std::string right_pairs() {
  return scored_pairs([](int i) { return i; });
}

// `right` are runs of a model that is perfect in every sample, so its difference from another model
// gives the other's value and interval.
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
              HasSubstr("another evaluation"));
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
