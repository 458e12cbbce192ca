// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/report/detail/run_fixture_test.h"

namespace simile {
namespace {

// Without folders: as no predictions can be read, seeds alone decide.
TableCell cell_of(const std::vector<double>& values) {
  TableCell cell;
  for (size_t i = 0; i < values.size(); ++i) cell.seeds.push_back(static_cast<int64_t>(i) + 1);
  cell.values = values;
  return cell;
}

TEST(Judge, SeedsAndExamplesMustBothAgree) {
  const AdjustedP sure{0.001, 0.2}, unsure{0.3, 0.3};
  const Interval above{0.1, 0.3}, across{-0.1, 0.3}, below{-0.3, -0.1};
  EXPECT_EQ(judge(0.2, sure, above), ClaimVerdict::kHolds);
  EXPECT_EQ(judge(-0.2, sure, below), ClaimVerdict::kDoesNotHold);
  EXPECT_EQ(judge(0.2, sure, across), ClaimVerdict::kUndecided);
  EXPECT_EQ(judge(0.2, unsure, above), ClaimVerdict::kUndecided);
  EXPECT_EQ(judge(0.2, {}, above), ClaimVerdict::kUndecided);
  EXPECT_EQ(judge(0.2, sure, {}), ClaimVerdict::kHolds);
}

TEST(Judge, WhereLowerIsBetterTheLowerRowIsTheBetterOne) {
  const AdjustedP sure{0.001, 0.2};
  const Interval above{0.1, 0.3}, across{-0.3, 0.1}, below{-0.3, -0.1};
  EXPECT_EQ(judge(-0.2, sure, below, Better::kLower), ClaimVerdict::kHolds);
  EXPECT_EQ(judge(0.2, sure, above, Better::kLower), ClaimVerdict::kDoesNotHold);
  EXPECT_EQ(judge(-0.2, sure, across, Better::kLower), ClaimVerdict::kUndecided);
  EXPECT_EQ(judge(-0.2, sure, {}, Better::kLower), ClaimVerdict::kHolds);
  EXPECT_EQ(judge(0.2, sure, above, Better::kNeither), ClaimVerdict::kUndecided);
}

TEST(AreApart, OnlyMetricsOfDifferentEvaluations) {
  EXPECT_TRUE(are_apart({"sts12.spearman", "sts13.spearman"}));
  EXPECT_FALSE(are_apart({"dev.map", "dev.mrr"}));
  EXPECT_TRUE(are_apart({"dev.map"}));
}

TEST(IntervalOfMean, DistancesToTheLimitsAddUpAsSquares) {
  const Interval one = interval_of_mean({{0.3, {0.1, 0.6}}});
  EXPECT_DOUBLE_EQ(one.low, 0.1);
  EXPECT_DOUBLE_EQ(one.high, 0.6);
  // 3, 4 and 5 below, 6, 8 and 10 above.
  const Interval two = interval_of_mean({{1, {-2, 7}}, {3, {-1, 11}}});
  EXPECT_DOUBLE_EQ(two.low, 2 - 2.5);
  EXPECT_DOUBLE_EQ(two.high, 2 + 5);
}

TEST(CellInterval, IsOfTheMeanOfItsSeeds) {
  const RunFixture files;
  TableColumn column;
  column.metrics = {"test.spearman"};
  TableCell cell = cell_of({1, 1});
  const std::string right = scored_pairs([](int i) { return i; });
  cell.folders = {files.run("a", 1, 1, right), files.run("b", 2, 1, right)};
  DrawnFigures drawn;
  std::string problem;
  const std::optional<Interval> interval = cell_interval(column, cell, drawn, problem);
  ASSERT_TRUE(interval) << problem;
  EXPECT_DOUBLE_EQ(interval->low, 1);
  EXPECT_DOUBLE_EQ(interval->high, 1);
  column.metrics = {"test.spearman", "dev.spearman"};
  EXPECT_FALSE(cell_interval(column, cell, drawn, problem));
  EXPECT_THAT(problem, ::testing::HasSubstr("no evaluation 'dev'"));
}

TEST(CellInterval, NoneOfABaselineAndOfMetricsOfOneEvaluation) {
  TableColumn column;
  column.metrics = {"test.map"};
  DrawnFigures drawn;
  std::string problem;
  EXPECT_FALSE(cell_interval(column, cell_of({0.5}), drawn, problem));
  TableCell trained = cell_of({0.5});
  trained.folders = {"is not read"};
  column.metrics = {"test.map", "test.mrr"};
  EXPECT_FALSE(cell_interval(column, trained, drawn, problem));
  EXPECT_EQ(problem, "");
}

TEST(CellInterval, WhatCannotBeReadIsTheProblemOfTheCellAlone) {
  TableColumn column;
  column.metrics = {"test.map"};
  TableCell cell = cell_of({0.5});
  cell.folders = {"nowhere"};
  DrawnFigures drawn;
  std::string problem;
  EXPECT_FALSE(cell_interval(column, cell, drawn, problem));
  EXPECT_THAT(problem, ::testing::HasSubstr("nowhere"));
}

TEST(JudgedClaim, AVerdictSaysWhatItWasMadeBy) {
  JudgedClaim judged;
  judged.verdict = ClaimVerdict::kDoesNotHold;
  EXPECT_EQ(judged.verdict_words(), "does not hold (t-test alone)");
  judged.interval = Interval{-0.3, -0.1};
  EXPECT_EQ(judged.verdict_words(), "does not hold");
}

TEST(TestClaim, PairsTheSeedsBothHave) {
  TableCell above = cell_of({0.80, 0.81, 0.82}), below = cell_of({0.70, 0.71, 0.73});
  below.seeds = {2, 3, 4};
  above.folders = {"", "", ""};
  below.folders.clear();  // as of a baseline, whose figure is the same for all seeds
  JudgedClaim judged = test_claim({}, above, below, silent_events());
  EXPECT_EQ(judged.seeds, 3U);
  EXPECT_NEAR(judged.difference, 0.11, 1e-12);
  EXPECT_EQ(judged.verdict, ClaimVerdict::kUndecided);
  std::vector<Reproduction> alone(1);
  alone[0].claims = {judged};
  judge_claims(alone);
  EXPECT_EQ(alone[0].claims[0].verdict, ClaimVerdict::kHolds);
  EXPECT_EQ(alone[0].claims[0].verdict_words(), "holds (t-test alone)");
}

TEST(TestClaim, ARandomStartIsPairedSeedBySeed) {
  TableCell trained = cell_of({0.50, 0.60, 0.70}), start = cell_of({0.41, 0.50, 0.59});
  trained.folders = {"", "", ""};
  start.is_per_seed = true;
  const JudgedClaim judged = test_claim({}, trained, start, silent_events());
  EXPECT_EQ(judged.seeds, 3U);
  EXPECT_NEAR(judged.difference, 0.1, 1e-12);
  EXPECT_NEAR(judged.t_test->t, 0.1 / (0.01 / std::sqrt(3)), 1e-6);  // differences 0.09, 0.1, 0.11
  EXPECT_EQ(judged.remark, "");
  start.seeds = {1};
  start.values = {0.41};
  const JudgedClaim one = test_claim({}, trained, start, silent_events());
  EXPECT_EQ(one.seeds, 1U);
  EXPECT_FALSE(one.t_test);
  EXPECT_THAT(one.remark, ::testing::HasSubstr("a random start of its own, and 1 of 3"));
}

TEST(TestClaim, TakesTheBetterEndFromTheColumnsMetric) {
  TableColumn column;
  column.metrics = {"geo.alignment"};
  std::vector<Reproduction> tables(1);
  TableCell low = cell_of({0.20, 0.21, 0.22}), high = cell_of({0.80, 0.81, 0.83});
  low.folders = {"", "", ""};
  high.is_per_seed = true;  // paired without examples
  tables[0].claims = {test_claim(column, low, high, silent_events()),
                      test_claim(column, high, low, silent_events())};
  judge_claims(tables);
  EXPECT_LT(tables[0].claims[0].difference, 0);
  EXPECT_EQ(tables[0].claims[0].verdict, ClaimVerdict::kHolds);
  EXPECT_EQ(tables[0].claims[1].verdict, ClaimVerdict::kDoesNotHold);
  column.metrics = {"test.threshold"};
  EXPECT_EQ(test_claim(column, low, high, silent_events()).remark,
            "no end of the metric is the better one");
}

TEST(JudgeClaims, AreCorrectedForTheTestsOfAllTables) {
  JudgedClaim sure, unsure, untested;
  sure.difference = unsure.difference = 0.2;
  sure.interval = unsure.interval = Interval{0.1, 0.3};
  sure.t_test = TTest{9, 4, 0.01};
  unsure.t_test = TTest{3, 4, 0.04};
  std::vector<Reproduction> tables(2);
  tables[0].claims = {sure, untested};
  tables[1].claims = {unsure, unsure};
  judge_claims(tables);
  EXPECT_EQ(tables[0].claims[0].verdict, ClaimVerdict::kHolds);  // 0.01 x 3
  EXPECT_NEAR(tables[0].claims[0].adjusted->benjamini_hochberg, 0.03, 1e-15);
  EXPECT_FALSE(tables[0].claims[1].adjusted);
  EXPECT_EQ(tables[0].claims[1].verdict, ClaimVerdict::kUndecided);
  EXPECT_EQ(tables[1].claims[0].verdict, ClaimVerdict::kHolds);  // 0.04 x 3 / 3
  EXPECT_NEAR(tables[1].claims[0].adjusted->holm, 0.08, 1e-15);
  EXPECT_EQ(tables[0].tests, 3);
  tables[1].claims.resize(1);
  tables[0].claims[0].t_test->p = 0.03;
  tables[1].claims[0].t_test->p = 0.2;
  judge_claims(tables);
  EXPECT_EQ(tables[0].claims[0].verdict, ClaimVerdict::kUndecided);  // 0.03 x 2
}

TEST(TestClaim, OneSeedOrNoneDecidesNothing) {
  const JudgedClaim none = test_claim({}, cell_of({}), cell_of({0.5}), silent_events());
  EXPECT_EQ(none.seeds, 0U);
  EXPECT_EQ(none.verdict, ClaimVerdict::kUndecided);
  EXPECT_EQ(none.verdict_words(), "undecided");
  EXPECT_THAT(none.remark, ::testing::HasSubstr("no seed"));
  TableCell one = cell_of({0.9});
  one.folders = {""};
  EXPECT_EQ(test_claim({}, one, cell_of({0.5}), silent_events()).verdict, ClaimVerdict::kUndecided);
}

TEST(JudgeOrder, CountsPairsAsThePaperHasThem) {
  Reproduction result;
  result.table.columns.resize(1);
  const std::vector<std::pair<double, std::vector<double>>> rows = {
      {70, {0.60, 0.61, 0.62}}, {80, {0.70, 0.71, 0.725}}, {90, {0.65, 0.66, 0.665}}};
  for (const auto& [paper, values] : rows) {
    TableRow row;
    row.paper = {paper};
    result.table.rows.push_back(row);
    TableCell cell = cell_of(values);
    cell.folders.resize(values.size());
    result.cells.push_back({cell});
  }
  const JudgedOrder order = judge_order(result, 0);
  EXPECT_EQ(order.same, 2);
  EXPECT_EQ(order.same_significant, 2);
  EXPECT_EQ(order.reversed, 1);
  EXPECT_EQ(order.reversed_significant, 1);
  EXPECT_NEAR(order.tau, 1.0 / 3, 1e-12);
  EXPECT_EQ(order.p, 1);
  EXPECT_EQ(order.verdict, ClaimVerdict::kUndecided);
}

TEST(JudgeOrder, FiveRowsInThePapersOrderHoldAndTurnedRoundDoNot) {
  for (const double direction : {1.0, -1.0}) {
    Reproduction result;
    result.table.columns.resize(1);
    for (int r = 0; r < 5; ++r) {
      TableRow row;
      row.paper = {direction * r};
      result.table.rows.push_back(row);
      TableCell cell = cell_of({0.1 * r});
      cell.folders.resize(1);
      result.cells.push_back({cell});
    }
    const JudgedOrder order = judge_order(result, 0);
    EXPECT_EQ(order.rows, 5);
    EXPECT_EQ(order.tau, direction);
    EXPECT_NEAR(order.p, 2.0 / 120, 1e-12);
    EXPECT_EQ(order.verdict, direction > 0 ? ClaimVerdict::kHolds : ClaimVerdict::kDoesNotHold);
  }
}

}  // namespace
}  // namespace simile
