// SPDX-License-Identifier: Apache-2.0
#include "simile/report/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/parallel.h"
#include "simile/eval/predictions.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Numbers = std::vector<double>;

// A ranking with one metric of each query.
Scores ranked(const std::string& name, const Numbers& map) {
  Predictions predictions;
  predictions.kind = PredictionKind::kQueries;
  predictions.metrics = {"map"};
  predictions.values = {map};
  for (size_t i = 0; i < map.size(); ++i) {
    predictions.left.push_back(fmt::format("q{}", i));
    predictions.right.push_back("query");
  }
  Report report = report_predictions(predictions);
  report.name = name;
  return {{report}, {predictions}};
}

Scores scored(const std::string& name, const Numbers& gold, const Numbers& score) {
  Predictions predictions;
  predictions.gold = gold;
  predictions.score = score;
  predictions.left.assign(gold.size(), "left");
  predictions.right.assign(gold.size(), "right");
  Report report = report_predictions(predictions);
  report.name = name;
  return {{report}, {predictions}};
}

Numbers random_numbers(size_t count, unsigned seed, double shift = 0) {
  std::mt19937 random(seed);
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(shift + static_cast<double>(random() % 1000) / 1000);
  }
  return numbers;
}

Spread spread_of_difference(const Numbers& a, const Numbers& b) {
  Numbers differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  return measure_spread(differences);
}

Verdict verdict_of(const std::optional<Gain>& gain) {
  Verdict verdict;
  if (gain) verdict.gains = {*gain};
  return verdict;
}

TEST(Verdict, OfARankingIsAPairedBootstrapOverItsQueries) {
  const Numbers before = random_numbers(300, 1), after = random_numbers(300, 2, 0.1);
  const auto gain = measure_gain({"dev.map"}, ranked("dev", before), ranked("dev", after));
  ASSERT_TRUE(gain);
  const Spread spread = spread_of_difference(before, after);
  EXPECT_DOUBLE_EQ(gain->differences()[0], spread.mean);
  // Of a mean it is about that of the normal distribution.
  const double error = 1.96 * spread.deviation / std::sqrt(300.0);
  ASSERT_TRUE(gain->interval);
  EXPECT_NEAR(gain->interval->low, spread.mean - error, 0.05 * error);
  EXPECT_NEAR(gain->interval->high, spread.mean + error, 0.05 * error);
  EXPECT_EQ(gain->samples, 10000);
  const std::string line = verdict_of(gain).to_line();
  EXPECT_EQ(line, fmt::format("verdict: dev map {:.2f} -> {:.2f} ({:+.2f}, 95 % interval {:+.2f} "
                              "to {:+.2f}, paired bootstrap over 300 queries)",
                              100 * gain->start[0], 100 * gain->trained[0], 100 * spread.mean,
                              100 * gain->interval->low, 100 * gain->interval->high));
}

TEST(Verdict, IsPairedAndTheSameForAnyNumberOfThreads) {
  // Every query gains the same: however they are drawn, so does the mean.
  Numbers before = random_numbers(40, 3), after = before;
  for (double& value : after) value += 0.25;
  const auto measure = [&] {
    return measure_gain({"dev.map"}, ranked("dev", before), ranked("dev", after));
  };
  const auto equal = measure();
  EXPECT_NEAR(equal->interval->low, 0.25, 1e-12);
  EXPECT_NEAR(equal->interval->high, 0.25, 1e-12);
  after = random_numbers(40, 4);
  const int threads = thread_count();
  set_thread_count(1);
  const Interval one = *measure()->interval;
  set_thread_count(3);
  const Interval three = *measure()->interval;
  set_thread_count(threads);
  EXPECT_EQ(one.low, three.low);
  EXPECT_EQ(one.high, three.high);
  EXPECT_LT(one.low, one.high);
}

TEST(Verdict, OfSeveralSetsDrawsEachOnItsOwn) {
  const Numbers a0 = random_numbers(200, 5), a1 = random_numbers(200, 6, 0.1);
  const Numbers b0 = random_numbers(300, 7), b1 = random_numbers(300, 8, 0.3);
  Scores start = ranked("a", a0), trained = ranked("a", a1);
  start.add(ranked("b", b0));
  trained.add(ranked("b", b1));
  const auto gain = measure_gain({"a.map", "b.map"}, start, trained);
  const Spread a = spread_of_difference(a0, a1), b = spread_of_difference(b0, b1);
  const double mean = (a.mean + b.mean) / 2;
  const double error =
      1.96 * std::sqrt(a.deviation * a.deviation / 200 + b.deviation * b.deviation / 300) / 2;
  EXPECT_NEAR(gain->differences()[0], mean, 1e-12);
  EXPECT_NEAR(gain->interval->low, mean - error, 0.05 * error);
  EXPECT_NEAR(gain->interval->high, mean + error, 0.05 * error);
  EXPECT_THAT(verdict_of(gain).to_line(), AllOf(HasSubstr("verdict: mean of a map, b map "),
                                                HasSubstr("over 200 queries and 300 queries)")));
}

TEST(Verdict, OfPairsAndClassesDrawsThose) {
  const Numbers gold = {0, 1, 2, 3, 4, 5}, rising = {0, 1, 2, 3, 4, 5}, mixed = {1, 0, 3, 2, 5, 4};
  const auto sts = measure_gain({"dev.spearman", "dev.pearson"}, scored("dev", gold, mixed),
                                scored("dev", gold, rising));
  EXPECT_EQ(sts->examples, "6 pairs");
  EXPECT_GE(sts->interval->low, 0);
  EXPECT_GT(sts->interval->high, sts->differences()[0]);

  const auto classes = [](const std::vector<std::string>& predicted) {
    Predictions predictions;
    predictions.kind = PredictionKind::kClasses;
    predictions.left.assign(4, "text");
    predictions.gold_class = {"a", "b", "a", "b"};
    predictions.predicted = predicted;
    predictions.probability.assign(4, 1);
    Report report = report_predictions(predictions);
    report.name = "mood";
    return Scores{{report}, {predictions}};
  };
  const auto gain =
      measure_gain({"mood.accuracy"}, classes({"a", "a", "a", "a"}), classes({"a", "b", "a", "b"}));
  EXPECT_EQ(gain->examples, "4 texts");
  EXPECT_DOUBLE_EQ(gain->differences()[0], 0.5);
}

// Thresholds stay where each side chose them.
TEST(Verdict, OfLabelledPairsNeedsTheirThresholds) {
  const Numbers gold = {0, 0, 0, 1, 1, 1};
  Scores start = scored("dev", gold, {1, 2, 3, 2, 3, 4}), trained = scored("dev", gold, gold);
  start.reports[0].metrics = {{"f1", 4.0 / 5}, {"f1_threshold", 2.5}};
  trained.reports[0].metrics = {{"f1", 1}, {"f1_threshold", 0.5}};
  // Above 2.5 of the start are 3 | 3 4: precision and recall are 2 / 3.
  const auto wrong = measure_gain({"dev.f1"}, start, trained);
  EXPECT_FALSE(wrong->interval);
  start.reports[0].metrics[0].second = 2.0 / 3;
  const auto gain = measure_gain({"dev.f1"}, start, trained);
  ASSERT_TRUE(gain->interval);
  EXPECT_GE(gain->interval->low, 0);
  const auto threshold = measure_gain({"dev.f1_threshold"}, start, trained);
  EXPECT_EQ(verdict_of(threshold).to_line(),
            "verdict: dev f1_threshold 2.5000 -> 0.5000 (-2.0000; no interval: f1_threshold is not "
            "a metric of single examples)");
}

TEST(Verdict, ManyExamplesAreDrawnLessOften) {
  const Numbers values = random_numbers(20000, 9);
  EXPECT_EQ(measure_gain({"dev.map"}, ranked("dev", values), ranked("dev", values))->samples, 2500);
}

TEST(Verdict, WhatOneSideLacksIsNoGain) {
  const Scores dev = ranked("dev", {0.5, 1}), other = ranked("other", {0.5, 1});
  EXPECT_FALSE(measure_gain({"dev.map"}, dev, other));
  EXPECT_FALSE(measure_gain({"dev.mrr"}, dev, dev));
  EXPECT_THAT(verdict_of({}).to_line(), HasSubstr("verdict: none, as nothing was measured"));
  Scores foreign = dev;
  foreign.predictions[0].left[1] = "q9";
  EXPECT_THAT(error_of([&] { measure_gain({"dev.map"}, dev, foreign); }), HasSubstr("example 2"));
}

TEST(Verdict, AKeptStartAndALossAreSaid) {
  Verdict kept =
      verdict_of(measure_gain({"dev.map"}, ranked("dev", {0.5, 1}), ranked("dev", {0.5, 1})));
  kept.start_kept = 1;
  EXPECT_EQ(kept.to_line(),
            "verdict: dev map 75.00 -> 75.00 (+0.00: the start was kept, no later weights were "
            "better)");
  Gain loss;
  loss.title = "loss.all";
  loss.metrics = {"loss.all"};
  loss.is_loss = loss.lower_is_better = true;
  loss.start = {2.5};
  loss.trained = {0.5};
  loss.no_interval = "a reason";
  Verdict verdict = verdict_of(loss);
  verdict.gains.push_back(
      *measure_gain({"dev.map"}, ranked("dev", {0.5, 1}), ranked("dev", {0.5, 1})));
  EXPECT_EQ(verdict.to_line(),
            "verdict: loss.all 2.5000 -> 0.5000 (-2.0000, lower is better; no interval: a reason); "
            "dev map 75.00 -> 75.00 (+0.00, 95 % interval +0.00 to +0.00, paired bootstrap over 2 "
            "queries)");
}

TEST(Verdict, OfSeedsIsMeanAndDeviationOfTheirGains) {
  std::vector<Verdict> runs;
  for (const double trained : {0.5, 0.6, 0.7}) {
    runs.push_back(verdict_of(
        measure_gain({"dev.map"}, ranked("dev", {0.1, 0.1}), ranked("dev", {trained, trained}))));
  }
  runs[1].start_kept = 1;
  runs[1].causes = {"a cause"};
  runs[1].stages_that_kept_theirs = {"one"};
  const Verdict joined = join_verdicts(runs);
  EXPECT_EQ(joined.to_line(),
            "verdict: dev map 10.00 -> 60.00 +- 10.00 (+50.00 +- 10.00 over 3 seeds); 1 of 3 runs "
            "kept their start");
  const Json json = Json::parse(joined.to_json());
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["start_kept"], 1);
  EXPECT_THAT(json["causes"], ElementsAre("a cause"));
  EXPECT_THAT(json["stages_that_kept_their_start"], ElementsAre("one"));
  const Json& gain = json["gains"][0];
  EXPECT_NEAR(gain["difference"], 0.5, 1e-12);
  EXPECT_NEAR(gain["deviation"], 0.1, 1e-12);
  EXPECT_EQ(gain["differences"].size(), 3u);
  EXPECT_FALSE(gain.contains("interval"));
  EXPECT_EQ(join_verdicts({runs[0]}).to_line(), runs[0].to_line());
}

TEST(Verdict, JsonHoldsFractionsAndTheLine) {
  const Verdict verdict =
      verdict_of(measure_gain({"dev.map"}, ranked("dev", {0.5, 0.25}), ranked("dev", {1, 0.25})));
  const Json json = Json::parse(verdict.to_json());
  EXPECT_EQ(json["line"], verdict.to_line());
  EXPECT_EQ(json["start_kept"], 0);
  const Json& gain = json["gains"][0];
  EXPECT_THAT(gain["metrics"], ElementsAre("dev.map"));
  EXPECT_EQ(gain["start"], 0.375);
  EXPECT_EQ(gain["trained"], 0.625);
  EXPECT_EQ(gain["difference"], 0.25);
  EXPECT_EQ(gain["interval"]["low"], 0);
  EXPECT_EQ(gain["interval"]["high"], 0.5);
  EXPECT_EQ(gain["interval"]["over"], "2 queries");
  EXPECT_EQ(gain["interval"]["samples"], 10000);
}

}  // namespace
}  // namespace simile
