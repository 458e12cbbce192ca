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
using ::testing::StartsWith;
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
  const auto gain = measure_gain("start", {"dev.map"}, ranked("dev", before), ranked("dev", after));
  ASSERT_TRUE(gain);
  const Spread spread = spread_of_difference(before, after);
  EXPECT_DOUBLE_EQ(gain->difference(), spread.mean);
  // For a mean, the interval is about that of the normal distribution.
  const double error = 1.96 * spread.deviation / std::sqrt(300.0);
  ASSERT_TRUE(gain->interval);
  EXPECT_NEAR(gain->interval->low, spread.mean - error, 0.05 * error);
  EXPECT_NEAR(gain->interval->high, spread.mean + error, 0.05 * error);
  EXPECT_EQ(gain->draws.size(), 10000u);
  const std::string line = verdict_of(gain).to_line();
  EXPECT_EQ(line, fmt::format("verdict: helped; dev map {:.2f} -> {:.2f} ({:+.2f}, 95 % interval "
                              "{:+.2f} to {:+.2f}, 300 queries)",
                              100 * gain->start[0], 100 * gain->trained[0], 100 * spread.mean,
                              100 * gain->interval->low, 100 * gain->interval->high));
}

TEST(Verdict, IsPairedAndTheSameForAnyNumberOfThreads) {
  // Every query gains the same: however they are drawn, so does the mean.
  Numbers before = random_numbers(40, 3), after = before;
  for (double& value : after) value += 0.25;
  const auto measure = [&] {
    return measure_gain("start", {"dev.map"}, ranked("dev", before), ranked("dev", after));
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
  const auto gain = measure_gain("start", {"a.map", "b.map"}, start, trained);
  const Spread a = spread_of_difference(a0, a1), b = spread_of_difference(b0, b1);
  const double mean = (a.mean + b.mean) / 2;
  const double error =
      1.96 * std::sqrt(a.deviation * a.deviation / 200 + b.deviation * b.deviation / 300) / 2;
  EXPECT_NEAR(gain->difference(), mean, 1e-12);
  EXPECT_NEAR(gain->interval->low, mean - error, 0.05 * error);
  EXPECT_NEAR(gain->interval->high, mean + error, 0.05 * error);
  EXPECT_THAT(verdict_of(gain).to_line(), AllOf(HasSubstr("verdict: helped; mean of a map, b map "),
                                                HasSubstr(", 500 queries)")));
}

TEST(Verdict, OfPairsAndClassesDrawsThose) {
  const Numbers gold = {0, 1, 2, 3, 4, 5}, rising = {0, 1, 2, 3, 4, 5}, mixed = {1, 0, 3, 2, 5, 4};
  const auto sts = measure_gain("start", {"dev.spearman", "dev.pearson"},
                                scored("dev", gold, mixed), scored("dev", gold, rising));
  EXPECT_EQ(sts->examples, 6);
  EXPECT_EQ(sts->unit, "pairs");
  EXPECT_GE(sts->interval->low, 0);
  EXPECT_GT(sts->interval->high, sts->difference());

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
  const auto gain = measure_gain("start", {"mood.accuracy"}, classes({"a", "a", "a", "a"}),
                                 classes({"a", "b", "a", "b"}));
  EXPECT_EQ(gain->unit, "texts");
  EXPECT_DOUBLE_EQ(gain->difference(), 0.5);
}

// Thresholds stay where each side chose them.
TEST(Verdict, OfLabelledPairsNeedsTheirThresholds) {
  const Numbers gold = {0, 0, 0, 1, 1, 1};
  Scores start = scored("dev", gold, {1, 2, 3, 2, 3, 4}), trained = scored("dev", gold, gold);
  start.reports[0].metrics = {{"f1", 4.0 / 5}, {"f1_threshold", 2.5}};
  trained.reports[0].metrics = {{"f1", 1}, {"f1_threshold", 0.5}};
  // Above 2.5 of the start are 3 | 3 4: precision and recall are 2 / 3.
  const auto wrong = measure_gain("start", {"dev.f1"}, start, trained);
  EXPECT_FALSE(wrong->interval);
  start.reports[0].metrics[0].second = 2.0 / 3;
  const auto gain = measure_gain("start", {"dev.f1"}, start, trained);
  ASSERT_TRUE(gain->interval);
  EXPECT_GE(gain->interval->low, 0);
  const auto threshold = measure_gain("start", {"dev.f1_threshold"}, start, trained);
  EXPECT_EQ(verdict_of(threshold).to_line(),
            "verdict: undecided; dev f1_threshold 2.5000 -> 0.5000 (-2.0000; no interval: "
            "f1_threshold is not a metric of single examples)");
}

TEST(Verdict, ManyExamplesAreDrawnLessOften) {
  const Numbers values = random_numbers(20000, 9);
  EXPECT_EQ(measure_gain("start", {"dev.map"}, ranked("dev", values), ranked("dev", values))
                ->draws.size(),
            2500u);
}

TEST(Verdict, WhatOneSideLacksIsNoGain) {
  const Scores dev = ranked("dev", {0.5, 1}), other = ranked("other", {0.5, 1});
  EXPECT_FALSE(measure_gain("start", {"dev.map"}, dev, other));
  EXPECT_FALSE(measure_gain("start", {"dev.mrr"}, dev, dev));
  EXPECT_THAT(verdict_of({}).to_line(), HasSubstr("verdict: none, as nothing was measured"));
  Scores foreign = dev;
  foreign.predictions[0].left[1] = "q9";
  EXPECT_THAT(error_of([&] { measure_gain("start", {"dev.map"}, dev, foreign); }),
              HasSubstr("example 2"));
}

TEST(Verdict, AKeptStartAndALossAreSaid) {
  Verdict kept = verdict_of(
      measure_gain("start", {"dev.map"}, ranked("dev", {0.5, 1}), ranked("dev", {0.5, 1})));
  kept.start_kept = 1;
  EXPECT_EQ(kept.to_line(),
            "verdict: nothing gained, the start was kept, as no later weights were better; dev map "
            "75.00 -> 75.00 (+0.00, 95 % interval +0.00 to +0.00, 2 queries)");
  Gain loss;
  loss.of = "loss";
  loss.title = "loss.all";
  loss.metrics = {"loss.all"};
  loss.lower_is_better = true;
  loss.start = {2.5};
  loss.trained = {0.5};
  loss.no_interval = "a reason";
  EXPECT_EQ(verdict_of(loss).to_line(),
            "verdict: undecided; loss.all 2.5000 -> 0.5000 (-2.0000, lower is better; no interval: "
            "a reason)");
  kept.gains.push_back(loss);
  EXPECT_THAT(kept.details(),
              ElementsAre("loss.all 2.5000 -> 0.5000 (-2.0000, lower is better; no interval: a "
                          "reason)"));
  EXPECT_EQ(kept.to_text(), kept.to_line() + "\n  " + kept.details()[0]);
}

// A gain as it would be measured: from `start` to `trained` by about `width`.
Gain gain_of(const std::string& of, double start, double trained, double width) {
  Gain gain;
  gain.of = of;
  gain.title = "test map";
  gain.metrics = {"test.map"};
  gain.start = {start};
  gain.trained = {trained};
  gain.interval = Interval{trained - start - width, trained - start + width};
  gain.draws = {gain.interval->low, gain.interval->high};
  gain.examples = 400;
  gain.unit = of == "majority" ? "texts" : "queries";
  gain.rival = of == "bm25"     ? "BM25"
               : of == "hybrid" ? "the start when both have BM25"
                                : "always answering 'spam'";
  return gain;
}

TEST(Verdict, TheFirstLineDecides) {
  const Gain helped = gain_of("start", 0.2, 0.3, 0.02);
  struct Case {
    std::vector<Gain> gains;
    const char* line;  // between "verdict: " and "; test map"
  };
  const std::vector<Case> cases = {
      {{helped}, "helped"},
      {{gain_of("start", 0.2, 0.21, 0.02)}, "undecided"},
      {{gain_of("start", 0.2, 0.2, 0)}, "undecided"},
      {{gain_of("start", 0.3, 0.2, 0.02)}, "hurt"},
      // Documents that training saw, and others.
      {{helped, gain_of("seen", 0.2, 0.4, 0.05), gain_of("unseen", 0.2, 0.3, 0.05)}, "helped"},
      {{helped, gain_of("seen", 0.2, 0.4, 0.05), gain_of("unseen", 0.2, 0.201, 0.05)},
       "helped, but only on documents that training saw (others undecided, +0.10)"},
      {{helped, gain_of("seen", 0.2, 0.4, 0.05), gain_of("unseen", 0.2, 0.1, 0.05)},
       "helped, but only on documents that training saw (others hurt, -10.00)"},
      {{helped, gain_of("seen", 0.2, 0.22, 0.05), gain_of("unseen", 0.2, 0.23, 0.05)},
       "helped, but only on documents that training saw (others undecided, +3.00)"},
      {{helped, gain_of("seen", 0.2, 0.4, 0.05)},
       "helped, but only on documents that training saw (no others were tested)"},
      {{helped, gain_of("unseen", 0.2, 0.3, 0.05)}, "helped"},
      {{gain_of("start", 0.2, 0.21, 0.02), gain_of("seen", 0.2, 0.4, 0.05),
        gain_of("unseen", 0.2, 0.1, 0.05)},
       "undecided"},
      // BM25.
      {{helped, gain_of("bm25", 0.25, 0.3, 0.02)}, "helped"},
      {{helped, gain_of("bm25", 0.29, 0.3, 0.02)},
       "helped, but not surely better than BM25 (30.00 against 29.00)"},
      {{helped, gain_of("bm25", 0.409, 0.3, 0.02)},
       "helped, but still below BM25 (30.00 against 40.90): do not use"},
      {{gain_of("start", 0.2, 0.21, 0.02), gain_of("bm25", 0.22, 0.21, 0.02)},
       "undecided, still below BM25 (21.00 against 22.00): do not use"},
      // The start with BM25.
      {{helped, gain_of("hybrid", 0.4, 0.45, 0.02)}, "helped"},
      {{helped, gain_of("hybrid", 0.4, 0.39, 0.02)},
       "helped, but no better than the start when both have BM25 (39.00 against 40.00)"},
      {{helped, gain_of("hybrid", 0.4, 0.41, 0.02)},
       "helped, but not surely better than the start when both have BM25 (41.00 against 40.00)"},
      {{helped, gain_of("hybrid", 0.4, 0.45, 0.02), gain_of("bm25", 0.409, 0.3, 0.02)},
       "helped, but still below BM25 (30.00 against 40.90): do not use without BM25 (with it "
       "45.00)"},
      {{helped, gain_of("seen", 0.2, 0.4, 0.05), gain_of("unseen", 0.2, 0.2, 0.05),
        gain_of("hybrid", 0.4, 0.4, 0), gain_of("bm25", 0.409, 0.3, 0.02)},
       "helped, but only on documents that training saw (others undecided, +0.00), still below "
       "BM25 (30.00 against 40.90): do not use, no better than the start when both have BM25 "
       "(40.00 against 40.00)"},
      // Classes.
      {{helped, gain_of("majority", 0.2, 0.3, 0.02)}, "helped"},
      {{helped, gain_of("majority", 0.3, 0.3, 0)},
       "helped, but no better than always answering 'spam' (30.00 against 30.00)"},
      {{helped, gain_of("majority", 0.29, 0.3, 0.02)},
       "helped, but not surely better than always answering 'spam' (30.00 against 29.00)"},
  };
  for (const Case& one : cases) {
    Verdict verdict;
    verdict.gains = one.gains;
    EXPECT_THAT(verdict.to_line(), StartsWith(fmt::format("verdict: {}; test map ", one.line)));
    EXPECT_EQ(verdict.details().size(), one.gains.size() - 1);
  }
}

TEST(Verdict, FurtherLinesSayWhatIsCompared) {
  Verdict verdict;
  for (const char* of : {"start", "seen", "unseen", "hybrid", "bm25", "majority", "selected"}) {
    verdict.gains.push_back(gain_of(of, 0.2, 0.3, 0.02));
  }
  verdict.gains.back().selects = true;
  const std::string figures =
      "test map 20.00 -> 30.00 (+10.00, 95 % interval +8.00 to +12.00, 400 ";
  EXPECT_EQ(verdict.to_line(), "verdict: helped; " + figures + "queries)");
  EXPECT_THAT(
      verdict.details(),
      ElementsAre("on documents that training saw: " + figures + "queries)",
                  "on documents that training did not see: " + figures + "queries)",
                  "with BM25, start and trained model: " + figures + "queries)",
                  "from BM25 to the trained model: " + figures + "queries)",
                  "from the most frequent class to the trained model: " + figures + "texts)",
                  figures + "queries), which selected the weights"));
  verdict.gains[0].selects = true;
  EXPECT_EQ(verdict.to_line(),
            "verdict: helped; " + figures + "queries), which also selected the weights");
}

TEST(Verdict, QueriesAreTakenApartByWhatTrainingSaw) {
  Scores start = ranked("test", {0.1, 0.2, 0.3, 0.4}),
         trained = ranked("test", {0.5, 0.2, 0.9, 0.3});
  const auto gain = [&](const std::string& of) {
    return measure_gain(of, {"test.map"}, start, trained);
  };
  EXPECT_FALSE(gain("seen"));  // not known
  start.predictions[0].seen = trained.predictions[0].seen = {1, 0, 1, 0};
  const auto seen = gain("seen"), unseen = gain("unseen");
  EXPECT_EQ(seen->examples, 2);
  EXPECT_DOUBLE_EQ(seen->start[0], 0.2);
  EXPECT_DOUBLE_EQ(seen->trained[0], 0.7);
  EXPECT_DOUBLE_EQ(seen->interval->low, 0.4);
  EXPECT_DOUBLE_EQ(seen->interval->high, 0.6);
  EXPECT_DOUBLE_EQ(unseen->start[0], 0.3);
  EXPECT_DOUBLE_EQ(unseen->trained[0], 0.25);
  EXPECT_DOUBLE_EQ(unseen->interval->low, -0.1);
  EXPECT_DOUBLE_EQ(unseen->interval->high, 0);
  trained.predictions[0].seen = {1, 1, 1, 1};
  EXPECT_EQ(gain("seen")->examples, 4);
  EXPECT_FALSE(gain("unseen"));
}

TEST(Verdict, ClassesAreComparedWithTheMostFrequentOne) {
  Predictions predictions;
  predictions.kind = PredictionKind::kClasses;
  predictions.left.assign(10, "text");
  predictions.gold_class = {"a", "b", "b", "b", "b", "b", "b", "b", "b", "a"};
  predictions.predicted = {"a", "b", "b", "b", "b", "b", "b", "b", "a", "b"};
  predictions.probability.assign(10, 1);
  Report report = report_predictions(predictions);
  report.name = "mood";
  const Scores trained = {{report}, {predictions}};
  const auto gain = measure_gain("majority", {"mood.accuracy"}, trained, trained);
  EXPECT_EQ(gain->rival, "always answering 'b'");
  EXPECT_DOUBLE_EQ(gain->start[0], 0.8);
  EXPECT_DOUBLE_EQ(gain->trained[0], 0.8);
  EXPECT_EQ(gain->direction(), 0);
  // F1 of 'b' is 16 / 18, that of 'a' 0.
  EXPECT_DOUBLE_EQ(measure_gain("majority", {"mood.macro_f1"}, trained, trained)->start[0],
                   8.0 / 18);
  EXPECT_FALSE(measure_gain("majority", {"dev.map"}, ranked("dev", {1}), ranked("dev", {1})));
}

TEST(Verdict, OfSeedsIsMeanAndDeviationOfTheirGains) {
  std::vector<Verdict> runs;
  for (const double trained : {0.5, 0.6, 0.7}) {
    runs.push_back(verdict_of(measure_gain("start", {"dev.map"}, ranked("dev", {0.1, 0.1}),
                                           ranked("dev", {trained, trained}))));
  }
  runs[1].start_kept = 1;
  runs[1].causes = {"a cause"};
  runs[1].stages_that_kept_theirs = {"one"};
  runs[2].gains.push_back(gain_of("bm25", 0.1, 0.7, 0.1));  // not of all runs
  const Verdict joined = join_verdicts(runs);
  EXPECT_EQ(joined.to_text(),
            "verdict: helped, but 1 of 3 runs kept their start; dev map 10.00 -> 60.00 +- 10.00 "
            "(+50.00 +- 10.00 over 3 seeds, 95 % interval +50.00 to +50.00, 2 queries)");
  const Json json = Json::parse(joined.to_json());
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["start_kept"], 1);
  EXPECT_THAT(json["causes"], ElementsAre("a cause"));
  EXPECT_THAT(json["stages_that_kept_their_start"], ElementsAre("one"));
  const Json& gain = json["gains"][0];
  EXPECT_NEAR(gain["difference"], 0.5, 1e-12);
  EXPECT_NEAR(gain["deviation"], 0.1, 1e-12);
  EXPECT_EQ(gain["differences"].size(), 3u);
  EXPECT_NEAR(gain["interval"]["low"], 0.5, 1e-12);
  EXPECT_EQ(join_verdicts({runs[0]}).to_line(), runs[0].to_line());
}

// Queries are drawn with all their seeds: what one seed gains on a query, the other loses there.
TEST(Verdict, OfSeedsTheIntervalIsThatOfTheirMean) {
  const Numbers zero(40, 0.0), ups = random_numbers(40, 10);
  Numbers one, other;
  for (const double up : ups) {
    one.push_back(up);
    other.push_back(0.2 - up);
  }
  const auto run = [&](const Numbers& trained) {
    return verdict_of(
        measure_gain("start", {"dev.map"}, ranked("dev", zero), ranked("dev", trained)));
  };
  const Gain seeds = join_verdicts({run(one), run(other)}).gains[0];
  EXPECT_NEAR(seeds.interval->low, 0.1, 1e-9);
  EXPECT_NEAR(seeds.interval->high, 0.1, 1e-9);
  EXPECT_EQ(seeds.examples, 40);
  // Folds have other queries, which nothing pairs.
  const Gain folds = join_verdicts({run(one), run(other)}, "folds").gains[0];
  const double error = 1.96 * measure_spread(ups).deviation / std::sqrt(2 * 40.0);
  EXPECT_NEAR(folds.interval->high - folds.interval->low, 2 * error, 0.1 * error);
  EXPECT_EQ(folds.examples, 80);
}

TEST(Verdict, JsonHoldsFractionsAndTheLine) {
  const Verdict verdict = verdict_of(
      measure_gain("start", {"dev.map"}, ranked("dev", {0.5, 0.25}), ranked("dev", {1, 0.25})));
  const Json json = Json::parse(verdict.to_json());
  EXPECT_EQ(json["line"], verdict.to_line());
  EXPECT_EQ(json["word"], "undecided");
  EXPECT_EQ(json["details"], Json::array());
  EXPECT_EQ(json["start_kept"], 0);
  const Json& gain = json["gains"][0];
  EXPECT_EQ(gain["of"], "start");
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
