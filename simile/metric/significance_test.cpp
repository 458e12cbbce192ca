// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/significance.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/parallel.h"
#include "simile/metric/agreement.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Json = nlohmann::json;
using Numbers = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Json golden(const char* part) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/significance.json");
  return Json::parse(file).at(part);
}

TEST(SignificanceGolden, StudentsDistributionAndIncompleteBeta) {
  for (const Json& c : golden("student")) {
    EXPECT_NEAR(student_two_sided(c["t"], c["degrees"]), c["p"], 1e-12) << c;
    EXPECT_EQ(student_two_sided(-c["t"].get<double>(), c["degrees"]),
              student_two_sided(c["t"], c["degrees"]));
  }
  for (const Json& c : golden("beta")) {
    EXPECT_NEAR(incomplete_beta(c["a"], c["b"], c["x"]), c["value"], 1e-11) << c;
  }
}

TEST(SignificanceGolden, PairedTests) {
  for (const Json& c : golden("paired")) {
    const Numbers a = c["a"], b = c["b"];
    const TTest t = paired_t_test(a, b);
    EXPECT_NEAR(t.t, c["t"], 1e-9) << c;
    EXPECT_NEAR(t.p, c["t_p"], 1e-10) << c;
    EXPECT_EQ(t.degrees, static_cast<int64_t>(a.size()) - 1);
    const PermutationTest permutation = paired_permutation_test(a, b, 1, 1);
    EXPECT_TRUE(permutation.exact);
    EXPECT_EQ(permutation.permutations, int64_t{1} << a.size());
    EXPECT_DOUBLE_EQ(permutation.p, c["permutation_p"]) << c;
  }
}

// Benjamini and Hochberg: scipy 1.16's false_discovery_control(); Holm: by hand.
TEST(Significance, PValuesAreCorrectedForTheirNumber) {
  const std::vector<AdjustedP> adjusted = adjust_p_values({0.01, 0.04, 0.03, 0.005, 0.5, 0.03});
  const Numbers bh = {0.03, 0.048, 0.045, 0.03, 0.5, 0.045},
                holm = {0.05, 0.12, 0.12, 0.03, 0.5, 0.12};
  ASSERT_EQ(adjusted.size(), bh.size());
  for (size_t i = 0; i < bh.size(); ++i) {
    EXPECT_NEAR(adjusted[i].benjamini_hochberg, bh[i], 1e-15) << i;
    EXPECT_NEAR(adjusted[i].holm, holm[i], 1e-15) << i;
  }
  EXPECT_TRUE(adjust_p_values({}).empty());
  EXPECT_EQ(adjust_p_values({0.04})[0].holm, 0.04);
  EXPECT_EQ(adjust_p_values({0.9, 0.8})[0].benjamini_hochberg, 0.9);
  EXPECT_EQ(adjust_p_values({0.9, 0.8})[0].holm, 1);
}

TEST(Significance, MeanAndDeviationOfASample) {
  EXPECT_DOUBLE_EQ(measure_spread({2, 4, 4, 4, 5, 5, 7, 9}).mean, 5);
  EXPECT_DOUBLE_EQ(measure_spread({2, 4, 4, 4, 5, 5, 7, 9}).deviation, std::sqrt(32.0 / 7));
  EXPECT_EQ(measure_spread({3}).mean, 3);
  EXPECT_EQ(measure_spread({3}).deviation, 0);
  EXPECT_THAT(error_of([] { measure_spread({}); }), HasSubstr("found none"));
}

TEST(Significance, EqualDifferencesAreAsLikelyAsTheirSigns) {
  const TTest none = paired_t_test({1, 2, 3}, {1, 2, 3});
  EXPECT_EQ(none.p, 1);
  EXPECT_EQ(none.t, 0);
  EXPECT_EQ(paired_permutation_test({1, 2, 3}, {1, 2, 3}, 1, 1).p, 1);
  const TTest all = paired_t_test({1, 2, 3}, {2, 3, 4});
  EXPECT_EQ(all.p, 0.25);
  EXPECT_TRUE(std::isinf(all.t));
  // Only all plus and all minus are as large.
  EXPECT_DOUBLE_EQ(paired_permutation_test({1, 2, 3}, {2, 3, 4}, 1, 1).p, 0.25);
}

TEST(Significance, TheTestsDoNotSeeWhichSideIsFirst) {
  const Numbers a = {1.5, 2, 8, 3.25, 7}, b = {2, 2.5, 7, 4, 9};
  EXPECT_DOUBLE_EQ(paired_t_test(a, b).p, paired_t_test(b, a).p);
  EXPECT_DOUBLE_EQ(paired_t_test(a, b).t, -paired_t_test(b, a).t);
  EXPECT_EQ(paired_permutation_test(a, b, 1, 1).p, paired_permutation_test(b, a, 1, 1).p);
}

TEST(Significance, ManyPairsArePermutedAtRandomFromTheSeed) {
  Numbers a, b;
  for (int i = 0; i < 21; ++i) {
    a.push_back(i);
    b.push_back(i + (i % 3 == 0 ? -0.5 : 0.4));
  }
  const PermutationTest once = paired_permutation_test(a, b, 4000, 7);
  EXPECT_FALSE(once.exact);
  EXPECT_EQ(once.permutations, 4000);
  EXPECT_EQ(once.p, paired_permutation_test(a, b, 4000, 7).p);
  EXPECT_NE(once.p, paired_permutation_test(a, b, 4000, 8).p);
  // Close to the t-test on data like these, and far from the ends.
  EXPECT_NEAR(once.p, paired_t_test(a, b).p, 0.05);
  // One hit is always counted: p is never 0.
  const Numbers zeros(30, 0), ones(30, 1);
  EXPECT_DOUBLE_EQ(paired_permutation_test(zeros, ones, 99, 1).p, 0.01);
}

double mean_of(const Numbers& values, const std::vector<int64_t>& positions) {
  double sum = 0;
  for (const int64_t position : positions) sum += values[static_cast<size_t>(position)];
  return sum / static_cast<double>(positions.size());
}

TEST(Bootstrap, IntervalOfAMeanIsThatOfTheNormalDistribution) {
  Numbers values;
  for (int i = 0; i < 400; ++i) values.push_back(i % 20);
  const auto mean = [&](const std::vector<int64_t>& at) { return mean_of(values, at); };
  const Interval interval = bootstrap_interval(400, mean, 0.95, 4000, 1);
  const double error = measure_spread(values).deviation / std::sqrt(400.0);
  EXPECT_NEAR(interval.low, 9.5 - 1.96 * error, 0.05);
  EXPECT_NEAR(interval.high, 9.5 + 1.96 * error, 0.05);
}

TEST(Bootstrap, PercentilesAreInterpolated) {
  // With one sample both ends are that value; the statistic sees as many positions as examples.
  const auto size = [](const std::vector<int64_t>& at) { return static_cast<double>(at.size()); };
  const Interval one = bootstrap_interval(7, size, 0.95, 1, 1);
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
  // Two samples v <= w at 50 %: a quarter and three quarters of the way.
  const auto first = [](const std::vector<int64_t>& at) { return static_cast<double>(at[0]); };
  const Interval ends = bootstrap_interval(1000, first, 1 - 1e-12, 2, 3);
  const Interval middle = bootstrap_interval(1000, first, 0.5, 2, 3);
  ASSERT_LT(ends.low + 1, ends.high);
  EXPECT_NEAR(middle.low, ends.low + 0.25 * (ends.high - ends.low), 1e-6);
  EXPECT_NEAR(middle.high, ends.low + 0.75 * (ends.high - ends.low), 1e-6);
}

TEST(Bootstrap, ValuesAndTheirPercentilesAreTheInterval) {
  Numbers values;
  for (int i = 0; i < 50; ++i) values.push_back(i * i % 17);
  const auto mean = [&](const std::vector<int64_t>& at) { return mean_of(values, at); };
  const Numbers drawn = bootstrap_values(50, mean, 300, 4);
  EXPECT_EQ(drawn.size(), 300u);
  const Interval interval = bootstrap_interval(50, mean, 0.9, 300, 4);
  EXPECT_EQ(percentile_interval(drawn, 0.9).low, interval.low);
  EXPECT_EQ(percentile_interval(drawn, 0.9).high, interval.high);
  const Interval literal = percentile_interval({5, 1, 4, 2, 3}, 0.5);
  EXPECT_DOUBLE_EQ(literal.low, 2);
  EXPECT_DOUBLE_EQ(literal.high, 4);
}

TEST(Bootstrap, TheSeedDecidesNotTheThreads) {
  Numbers values(50);
  std::iota(values.begin(), values.end(), 0.1);
  const auto mean = [&](const std::vector<int64_t>& at) { return mean_of(values, at); };
  const int threads = thread_count();
  set_thread_count(1);
  const Interval one = bootstrap_interval(50, mean, 0.9, 200, 5);
  set_thread_count(4);
  const Interval four = bootstrap_interval(50, mean, 0.9, 200, 5);
  set_thread_count(threads);
  EXPECT_EQ(one.low, four.low);
  EXPECT_EQ(one.high, four.high);
  EXPECT_NE(one.low, bootstrap_interval(50, mean, 0.9, 200, 6).low);
}

TEST(Significance, TwoSystemsAreTestedWhereTheyHaveTwoPairs) {
  const std::vector<double> a = {1, 2, 3}, b = {2, 2, 5};
  const PairedTest test = test_pairs(a, b, 10);
  EXPECT_EQ(test.difference, 1);
  EXPECT_EQ(test.t_test->p, paired_t_test(a, b).p);
  EXPECT_EQ(test.permutation->p, paired_permutation_test(a, b, 10, 1).p);
  EXPECT_FALSE(test_pairs(a, b).permutation);
  EXPECT_FALSE(test_pairs({1}, {4}).t_test);
  EXPECT_EQ(test_pairs({1}, {4, 6}).difference, 4);
}

TEST(Significance, WhatCannotBeTestedIsSaid) {
  EXPECT_THAT(error_of([] { paired_t_test({1}, {2}); }),
              HasSubstr("paired t-test: expected at least two pairs, found 1"));
  EXPECT_THAT(error_of([] { paired_t_test({1, 2}, {2}); }), HasSubstr("found 2 and 1 values"));
  EXPECT_THAT(error_of([] {
                paired_permutation_test({1, kNan}, {2, 3}, 1, 1);
              }),
              HasSubstr("permutation test: expected finite numbers, found nan at position 1"));
  const auto mean = [](const std::vector<int64_t>&) { return 1.0; };
  EXPECT_THAT(error_of([&] { bootstrap_interval(0, mean, 0.95, 10, 1); }), HasSubstr("none"));
  EXPECT_THAT(error_of([&] { bootstrap_interval(3, mean, 0.95, 0, 1); }), HasSubstr("found 0"));
  EXPECT_THAT(error_of([&] { bootstrap_interval(3, mean, 95, 10, 1); }), HasSubstr("found 95"));
  const auto fails = [](const std::vector<int64_t>&) -> double {
    throw Error(ErrorKind::kInput, "no such metric");
  };
  EXPECT_EQ(error_of([&] { bootstrap_interval(3, fails, 0.95, 10, 1); }), "no such metric");
}

TEST(SortedValues, RanksAChoiceAsIfItStoodAlone) {
  const SortedValues sorted({3, -1, 3, 8});
  EXPECT_EQ(sorted.distinct(), 3u);
  EXPECT_EQ(sorted.place(3), 2u);
  EXPECT_THAT(sorted.ranks({3, 1}), ElementsAre(2, 1));
  EXPECT_EQ(sorted.ranks({0, 3, 3, 2, 1}), average_ranks({3, 8, 8, 3, -1}));
  EXPECT_THAT(sorted.ranks({}), ElementsAre());
}

TEST(SortedValues, AveragePrecisionOfAChoiceIsThatOfItsExamples) {
  const std::vector<double> scores = {0.9, 0.1, 0.6, 0.6, 0.2};
  const std::vector<int> labels = {1, 0, 0, 1, 1};
  const AveragePrecision precision(scores, labels);
  EXPECT_EQ(precision({4, 4, 2, 3}), average_precision({0.2, 0.2, 0.6, 0.6}, {1, 1, 0, 1}));
  EXPECT_EQ(precision(all_positions(5)), average_precision(scores, labels));
  EXPECT_EQ(precision({1, 2}), 0);
}

}  // namespace
}  // namespace simile
