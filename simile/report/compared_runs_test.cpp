// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/compared_runs.h"

#include <gmock/gmock.h>

#include "simile/metric/significance.h"
#include "simile/report/detail/run_fixture_test.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

// Predictions for `count` pairs, of which the first `right` are correct.
std::string classified(const std::string& text, int count, int right) {
  std::string table = "text\tgold\tpredicted\tprobability\n";
  for (int i = 0; i < count; ++i) {
    table += fmt::format("{} {}\tyes\t{}\t1\n", text, i, i < right ? "yes" : "no");
  }
  return table;
}

struct TestedRun {
  int64_t seed, fold;  // fold -1: none
  double accuracy;
  std::string predictions;
};

ComparedRuns make_side(const TestFiles& files, const std::vector<TestedRun>& runs) {
  ComparedRuns side;
  for (const TestedRun& tested : runs) {
    RunFiles run;
    run.path = files.write(fmt::format("{}.tsv", side.runs.size()), tested.predictions);
    run.seed = tested.seed;
    if (tested.fold >= 0) run.fold = tested.fold;
    Report report;
    report.task = "classification";
    report.metrics = {{"accuracy", tested.accuracy}};
    run.reports = {report};
    side.runs.push_back(run);
  }
  return side;
}

// The report of each run.
std::vector<const Report*> reports_of(const ComparedRuns& side) {
  std::vector<const Report*> reports;
  for (const RunFiles& run : side.runs) reports.push_back(&run.reports[0]);
  return reports;
}

double of_all(const SideExamples& examples) {
  std::string problem;
  return examples.statistic("accuracy", problem)(all_positions(examples.count()));
}

TEST(SideExamples, FoldsWeighTheSameWhateverTheirSize) {
  const TestFiles files;
  const ComparedRuns side = make_side(files, {{1, 0, 0.5, classified("a", 8, 4)},
                                              {2, 0, 1, classified("a", 8, 8)},
                                              {1, 1, 0.25, classified("b", 4, 1)},
                                              {2, 1, 0.75, classified("b", 4, 3)}});
  const SideExamples examples(side, reports_of(side));
  EXPECT_EQ(examples.count(), 12);
  EXPECT_DOUBLE_EQ(of_all(examples), (0.75 + 0.5) / 2);
  std::string problem;
  const Statistic accuracy = examples.statistic("accuracy", problem);
  EXPECT_DOUBLE_EQ(accuracy({0, 7, 7}), (1.0 / 3 + 1) / 2);  // of a alone
  EXPECT_DOUBLE_EQ(accuracy({8}), 1);                        // of b alone
  EXPECT_DOUBLE_EQ(accuracy({0, 8, 9, 11}), (1 + (1.0 / 3 + 2.0 / 3) / 2) / 2);
}

TEST(SideExamples, ASetThatAllFoldsAreTestedOnCountsOnce) {
  const TestFiles files;
  const ComparedRuns side =
      make_side(files, {{1, 0, 0.5, classified("a", 4, 2)}, {1, 1, 1, classified("a", 4, 4)}});
  const SideExamples examples(side, reports_of(side));
  EXPECT_EQ(examples.count(), 4);
  EXPECT_DOUBLE_EQ(of_all(examples), 0.75);
}

TEST(SideExamples, WhatWasNotReportedHasNoStatistic) {
  const TestFiles files;
  const ComparedRuns side = make_side(files, {{1, -1, 0.5, classified("a", 4, 3)}});
  const SideExamples examples(side, reports_of(side));
  std::string problem;
  EXPECT_FALSE(examples.statistic("macro_f1", problem));
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(examples.statistic("accuracy", problem));
  EXPECT_THAT(problem,
              HasSubstr("accuracy is 0.7500 by the predictions, but 0.5000 in the report"));
}

TEST(SideExamples, AreMissingWhereARunHasNoPredictions) {
  const TestFiles files;
  ComparedRuns side =
      make_side(files, {{1, -1, 0.5, classified("a", 4, 2)}, {2, -1, 0.5, classified("a", 4, 2)}});
  side.runs[1].path = files.path("nowhere");
  EXPECT_TRUE(SideExamples(side, reports_of(side)).are_missing());
}

}  // namespace
}  // namespace simile
