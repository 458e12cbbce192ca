// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/prediction_metric.h"

#include <gmock/gmock.h>

#include <random>

#include "simile/metric/classification.h"
#include "simile/metric/correlation.h"

namespace simile {
namespace {

using Positions = std::vector<int64_t>;

// Scores with many ties, and positions that repeat and leave out.
struct RandomScores {
  RandomScores() {
    std::mt19937 random(5);
    for (int i = 0; i < 60; ++i) {
      predictions.left.push_back("x");
      predictions.right.push_back("y");
      predictions.score.push_back(static_cast<double>(random() % 12) / 4);
      predictions.gold.push_back(static_cast<double>(random() % 2));
      positions.push_back(static_cast<int64_t>(random() % 60));
    }
    for (const int64_t i : positions) {
      score.push_back(predictions.score[static_cast<size_t>(i)]);
      gold.push_back(predictions.gold[static_cast<size_t>(i)]);
      labels.push_back(static_cast<int>(gold.back()));
    }
  }
  Predictions predictions;
  Positions positions;
  std::vector<double> score, gold;  // those chosen
  std::vector<int> labels;
};

TEST(PredictionMetric, OfChosenExamplesIsTheMetricOfThose) {
  const RandomScores r;
  const auto value = [&r](const std::string& metric, const Report* report) {
    return make_statistic(r.predictions, metric, report)(r.positions);
  };
  EXPECT_NEAR(value("spearman", nullptr), spearman(r.score, r.gold), 1e-12);
  EXPECT_NEAR(value("pearson", nullptr), pearson(r.score, r.gold), 1e-12);
  EXPECT_NEAR(value("ap", nullptr), average_precision(r.score, r.labels), 1e-12);
  Report report;
  report.metrics = {{"threshold", 1.25}, {"f1_threshold", 0.75}};
  EXPECT_DOUBLE_EQ(value("accuracy", &report), apply_threshold(r.score, r.labels, 1.25).accuracy());
  EXPECT_DOUBLE_EQ(value("mcc", &report), apply_threshold(r.score, r.labels, 0.75).mcc());
  EXPECT_DOUBLE_EQ(value("f1", &report), apply_threshold(r.score, r.labels, 0.75).f1());
  EXPECT_FALSE(make_statistic(r.predictions, "accuracy", nullptr));
  EXPECT_FALSE(make_statistic(r.predictions, "map", &report));
}

TEST(PredictionMetric, IntervalsAreThoseOfMetricsOfThePredictions) {
  Predictions queries;
  queries.kind = PredictionKind::kQueries;
  queries.metrics = {"map", "p@1"};
  queries.values = {{0.25, 0.75, 0.25, 0.75}, {1, 1, 1, 1}};
  queries.left = {"a", "b", "c", "d"};
  Report report;
  report.metrics = {{"map", 0.5}, {"p@1", 1}, {"mrr", 0.5}};
  add_intervals(queries, report);
  ASSERT_EQ(report.intervals.size(), 2U);
  // Of four draws of 0.25 or 0.75 all are alike in one of eight samples.
  EXPECT_EQ(report.intervals[0].first, "map");
  EXPECT_DOUBLE_EQ(report.intervals[0].second.low, 0.25);
  EXPECT_DOUBLE_EQ(report.intervals[0].second.high, 0.75);
  EXPECT_DOUBLE_EQ(report.intervals[1].second.low, 1);
  EXPECT_THAT(to_table({report}), ::testing::HasSubstr("50.00 [25.00, 75.00]"));
  EXPECT_THAT(report.to_json(),
              ::testing::HasSubstr(R"("intervals":{"map":{"low":0.25,"high":0.75})"));
  Report other;
  other.metrics = {{"map", 0.6}};
  add_intervals(queries, other);
  EXPECT_TRUE(other.intervals.empty());
}

TEST(PredictionMetric, AFileIsReportedByWhatItHolds) {
  const RandomScores r;
  EXPECT_EQ(report_predictions(r.predictions).task, "pairs");
  Predictions graded = r.predictions;
  graded.gold[0] = 0.5;
  EXPECT_EQ(report_predictions(graded).task, "sts");
  EXPECT_NEAR(report_predictions(graded).metric("spearman"), spearman(graded.score, graded.gold),
              1e-12);
  Predictions classes;
  classes.kind = PredictionKind::kClasses;
  classes.left = {"a", "b", "c", "d"};
  classes.gold_class = {"x", "x", "y", "y"};
  classes.predicted = {"x", "y", "y", "z"};
  classes.probability = {1, 0.9, 0.6, 0.95};
  const Report report = report_predictions(classes);
  EXPECT_DOUBLE_EQ(report.metric("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(report.metric("macro_f1"), (2.0 / 3 + 0.5 + 0) / 3);
  // z occurs in no example chosen: the mean is over x and y.
  EXPECT_DOUBLE_EQ(make_statistic(classes, "macro_f1", nullptr)({0, 0, 2}), 1);
}

}  // namespace
}  // namespace simile
