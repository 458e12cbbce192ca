// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_files.h"

#include <gmock/gmock.h>

#include "simile/report/detail/run_fixture_test.h"

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
  files.write_in("bad", "results.json",
                 R"({"reports":[],"verdict":{"line":"x","start_kept":0,"causes":[1]}})");
  EXPECT_THAT(error_of([&] { read_run_set(files.path("bad")); }),
              AllOf(HasSubstr("\"causes\" should hold texts"), HasSubstr("number 1")));
  files.write_in("bad", "results.json", "{\"seconds\":1}");
  EXPECT_THAT(error_of([&] { read_run_set(files.path("bad")); }), HasSubstr("\"reports\""));
}

TEST(RunFiles, RunsAreFoundAtAnyDepth) {
  const RunFixture files;
  files.run("runs/faq", 1, 0.5, "");
  files.run("runs/faq/states/deep", 1, 0.5, "");
  files.run("runs/table/row/set/run-10", 1, 0.5, "");
  files.run("runs/table/row/set/run-2", 2, 0.5, "");
  files.run("runs/.hidden", 1, 0.5, "");
  files.write_in("runs/notes", "notes.txt", "-");
  std::filesystem::create_directory_symlink("..", files.path("runs/table/loop"));
  std::vector<std::string> found;
  for (const FoundRuns& set : find_runs(files.path("runs"))) {
    found.push_back(set.name);
    found.insert(found.end(), set.runs.begin(), set.runs.end());
  }
  EXPECT_THAT(found, testing::ElementsAre("faq", "faq", "table/row/set", "table/row/set/run-2",
                                          "table/row/set/run-10"));
  const std::vector<RunSet> sets = read_run_sets(files.path("runs"));
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[1].name, "table/row/set");
  EXPECT_EQ(sets[1].runs.size(), 2u);
  EXPECT_EQ(read_run_sets(files.path("runs/faq"))[0].name, "faq");
  EXPECT_THAT(error_of([&] { read_run_sets(files.path("runs/notes")); }),
              HasSubstr("is not a run"));
}

std::vector<std::string> changes(const std::string& before, const std::string& after) {
  std::vector<std::string> lines;
  for (const RecipeChange& change : find_recipe_changes({before, after})) {
    lines.push_back(change.key + ": " + change.values[0] + " -> " + change.values[1]);
  }
  return lines;
}

TEST(RecipeChanges, NameTheKeysThatDiffer) {
  const std::string recipe = R"({"seed": 1, "stages": [{"epochs": 5.0, "loss": {"name": "bsc"}}]})";
  EXPECT_THAT(changes(recipe, recipe), IsEmpty());
  EXPECT_THAT(
      changes(recipe, R"({"seed": 2, "stages": [{"epochs": 1.5, "loss": {"name": "mse"}}]})"),
      ElementsAre("seed: 1 -> 2", "stages.0.epochs: 5.0 -> 1.5",
                  "stages.0.loss.name: \"bsc\" -> \"mse\""));
}

TEST(RecipeChanges, OfWhatOneLacks) {
  EXPECT_THAT(changes(R"({"a": [1], "b": {"c": 1}})", R"({"a": [1, 2], "d": [], "b": {}})"),
              ElementsAre("a.1: nothing -> 2", "b.c: 1 -> nothing", "d: nothing -> []"));
  EXPECT_THAT(changes(R"({"a": [1]})", R"({"a": {"x": 1}})"), ElementsAre("a: [1] -> {\"x\":1}"));
}

}  // namespace
}  // namespace simile
