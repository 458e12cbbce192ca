// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_files.h"

#include <gmock/gmock.h>

#include "simile/report/detail/run_fixture.h"
#include "simile/report/run_log.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RunFiles, OneRunIsReadWhole) {
  const RunFixture files;
  const RunSet set = read_run_set(files.run("a", 7, 0.5, swapped_pairs(0)) + "/");
  EXPECT_EQ(set.name, "a");
  ASSERT_EQ(set.runs.size(), 1u);
  const RunFiles& run = set.runs[0];
  EXPECT_EQ(run.seed, 7);
  EXPECT_THAT(run.environment, ElementsAre(Pair("simile", "0.1.0"), Pair("threads", "2")));
  EXPECT_THAT(run.recipe,
              AllOf(HasSubstr("\"epochs\": 2"), ::testing::Not(HasSubstr("environment"))));
  EXPECT_EQ(run.seconds, 12.5);
  EXPECT_EQ(run.reports.size(), 2u);
  ASSERT_EQ(run.own_reports().size(), 1u);
  EXPECT_EQ(run.own_reports()[0].model, "own");
  EXPECT_THAT(run.predictions_of(run.reports[0]), EndsWith("a/predictions/test.tsv"));
  EXPECT_THAT(run.missing, IsEmpty());
}

TEST(RunFiles, SeveralSeedsStandInTheOrderOfTheirFolders) {
  const RunFixture files;
  for (const int seed : {1, 2, 10}) {
    files.run(fmt::format("many/run-{}", seed), 100 + seed, 0.5, "");
  }
  files.write_in("many", "run-x/notes.txt", "not a run");
  const RunSet set = read_run_set(files.path("many"));
  ASSERT_EQ(set.runs.size(), 3u);
  EXPECT_EQ(set.runs[2].seed, 110);
  // The seeds written above the runs count.
  files.write_in("many", "results.json",
                 R"({"runs":[{"folder":"run-10","seed":3,"reports":[]}],"reports":[]})");
  EXPECT_EQ(read_run_set(files.path("many")).runs[2].seed, 3);
  EXPECT_EQ(read_run_set(files.path("many")).runs[0].seed, 101);
  EXPECT_EQ(set.runs[0].predictions_of(set.runs[0].reports[0]), "");
}

TEST(RunFiles, WhatARunInProgressLacksIsSaid) {
  const RunFixture files;
  files.write_in("new", "metrics.jsonl", "");
  const RunSet set = read_run_set(files.path("new"));
  EXPECT_THAT(set.runs[0].missing, ElementsAre("run.json", "results.json"));
  EXPECT_FALSE(set.runs[0].seed);
}

TEST(RunFiles, WhatIsNoRunIsAnError) {
  const RunFixture files;
  EXPECT_THAT(error_of([&] { read_run_set(files.path("none")); }), HasSubstr("is not a folder"));
  files.write_in("other", "thesis.txt", "years of work");
  EXPECT_THAT(error_of([&] { read_run_set(files.path("other")); }),
              AllOf(HasSubstr("is not a run"), HasSubstr("metrics.jsonl")));
  files.write_in("bad", "results.json", "{\"reports\":");
  EXPECT_THAT(error_of([&] { read_run_set(files.path("bad")); }),
              AllOf(HasSubstr("bad/results.json"), HasSubstr("not valid JSON")));
  files.write_in("bad", "results.json", "{\"seconds\":1}");
  EXPECT_THAT(error_of([&] { read_run_set(files.path("bad")); }), HasSubstr("\"reports\""));
}

TEST(RunLog, CountsStepsThroughTheStages) {
  const TestFiles files;
  const RunLog log = read_run_log(files.write(
      "metrics.jsonl", R"({"stage":"one","step":1,"epoch":0.5,"loss":4.0,"temperature":0.1}
{"stage":"one","step":2,"epoch":1.0,"loss":null,"temperature":0.2}
{"stage":"two","step":0,"epoch":0.0,"evaluation":"dev","metrics":{"map":0.5,"mrr":0.25}}
{"stage":"two","objective":"nli","step":1,"epoch":0.5,"loss":2.0,"learning_rate":0.1}
{"stage":"two","step":1,"ep)"));
  ASSERT_EQ(log.stages.size(), 2u);
  EXPECT_EQ(log.stages[1].name, "two");
  EXPECT_EQ(log.stages[1].first_step, 2);
  EXPECT_EQ(log.steps, 3);
  std::string training, evaluations;
  for (const Curve& curve : log.training) {
    training += curve.name + ":";
    for (const CurvePoint& p : curve.points) training += fmt::format(" {},{}", p.x, p.y);
    training += "; ";
  }
  for (const Curve& curve : log.evaluations) {
    evaluations += fmt::format("{}: {},{}; ", curve.name, curve.points[0].x, curve.points[0].y);
  }
  EXPECT_EQ(training,
            "loss: 1,4; temperature: 1,0.1 2,0.2; loss (nli): 3,2; learning_rate: 3,0.1; ");
  EXPECT_EQ(evaluations, "dev.map: 2,0.5; dev.mrr: 2,0.25; ");
}

TEST(RunLog, ABrokenLineThatIsNotTheLastIsAnError) {
  const TestFiles files;
  const std::string good = "{\"stage\":\"a\",\"step\":1,\"loss\":1}\n";
  const auto error = [&](const std::string& text) {
    return error_of([&] { read_run_log(files.write("m.jsonl", text)); });
  };
  EXPECT_EQ(error(good + "{\"sta"), "");
  EXPECT_THAT(error(good + "{\"sta\n" + good), HasSubstr("m.jsonl:2"));
  EXPECT_THAT(error("[1]\n" + good), HasSubstr("m.jsonl:1"));
  EXPECT_THAT(error("{\"loss\":1}\n" + good), HasSubstr("stage"));
}

TEST(ThinCurve, KeepsEndsAndExtremes) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), i % 7 * 0.1});
  points[1234].y = 50;
  points[8765].y = -50;
  const std::vector<CurvePoint> thin = thin_curve(points, 1000);
  EXPECT_LE(thin.size(), 1000u);
  EXPECT_GT(thin.size(), 500u);
  EXPECT_EQ(thin.front().x, 0);
  EXPECT_EQ(thin.back().x, 9999);
  bool has_top = false, has_bottom = false;
  for (size_t i = 0; i < thin.size(); ++i) {
    EXPECT_TRUE(i == 0 || thin[i - 1].x < thin[i].x);
    has_top = has_top || (thin[i].x == 1234 && thin[i].y == 50);
    has_bottom = has_bottom || (thin[i].x == 8765 && thin[i].y == -50);
  }
  EXPECT_TRUE(has_top && has_bottom);
  EXPECT_EQ(thin_curve(points, 10000).size(), 10000u);
}

}  // namespace
}  // namespace simile
