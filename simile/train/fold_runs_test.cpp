// SPDX-License-Identifier: Apache-2.0
#include "simile/train/fold_runs.h"

#include <gmock/gmock.h>

#include "simile/train/detail/run_testing.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

class FoldRunsTest : public testing::FoldTest {
 protected:
  TrainOptions applied(const std::vector<std::string>& overrides) const {
    TrainOptions options;
    read_options(recipe(overrides), options);
    apply_folds(options);
    return options;
  }

  std::string error_with(const std::vector<std::string>& overrides) const {
    try {
      applied(overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(FoldRunsTest, DataThatIsCutOtherwiseIsRefused) {
  const std::string data = "stages.objectives.data.";
  write("more.tsv",
        testing::questions_and_answers() + "w38\tw39\n");  // other folds than the tested file's
  for (const std::string& other :
       {"path=" + path("more.tsv"), std::string("limit=20"), std::string("group=answer")}) {
    EXPECT_THAT(error_with({data + other}), HasSubstr("cut different data")) << other;
  }
  EXPECT_THAT(error_with({data + "group=answer", "tests.group=answer"}), "");
  const std::string whole =
      "stages=[{objectives: [{data: {path: " + path("faq.tsv") +
      ", left: question, right: answer, score: '', part: train}, loss: mnrl}, "
      "{data: {path: " +
      path("faq.tsv") + ", left: question, right: answer, score: ''}, loss: bsc}]}]";
  EXPECT_THAT(error_with({whole}), HasSubstr("objectives.1.data trains on all of what"));
}

TEST_F(FoldRunsTest, WhatIsCutTakesTheRecipesFolds) {
  const TrainOptions options = applied({});
  EXPECT_EQ(options.stages[0].objectives[0].data.folds.folds, 3);
  EXPECT_EQ(options.tests[0].ranking.folds.folds, 3);
  const TrainOptions last = options_of_fold(options, 2);
  EXPECT_EQ(last.folds, 0);
  EXPECT_EQ(last.stages[0].objectives[0].data.folds.fold, 2);
  EXPECT_EQ(last.tests[0].ranking.folds.fold, 2);
  EXPECT_TRUE(is_cut(last.tests[0]));
}

TEST_F(FoldRunsTest, RecipesThatCannotBeMeantAreErrors) {
  const std::string data = "stages.objectives.data.";
  EXPECT_THAT(error_with({}), "");
  EXPECT_THAT(error_with({"runs=2"}), HasSubstr("`folds: 3` and `runs: 2`"));
  EXPECT_THAT(error_with({"folds=1"}), HasSubstr("expected at least 2"));
  EXPECT_THAT(error_with({data + "part="}), HasSubstr("set `part: train`"));
  EXPECT_THAT(error_with({"tests.part="}), HasSubstr("set `part: test`"));
  EXPECT_THAT(error_with({data + "part=train"}), HasSubstr("take `part: fit`"));
  EXPECT_THAT(error_with({"tests.folds=4"}), HasSubstr("`folds: 4` of tests.0 cut"));
  EXPECT_THAT(error_with({"tests.fold=1"}), HasSubstr("tests.0: `fold: 1` reads one fold"));
  EXPECT_THAT(error_with({"tests.fold_seed=2"}), HasSubstr("give both the same"));
}

TEST_F(FoldRunsTest, NothingIsChosenOnThePartTested) {
  const auto evaluation = [&](const std::string& part) {
    return "evaluations={name: dev, task: ranking, data: " + path("faq.tsv") +
           ", left: question, right: answer, score: '', part: " + part + "}";
  };
  const std::string by_dev = "stages.selection.metric=dev.map";
  EXPECT_THAT(error_with({evaluation("dev"), by_dev}), "");
  EXPECT_THAT(error_with({evaluation("test"), by_dev}),
              HasSubstr("'dev.map' chooses by `part: test` of the evaluation 'dev'"));
  EXPECT_THAT(error_with({evaluation("test")}), "");  // looked at, not chosen by
  EXPECT_THAT(error_with({"stages.objectives.dev.part=test"}),
              HasSubstr("`part: test` of an objective's `dev`"));
  EXPECT_THAT(error_with({evaluation("test, folds: 3"), by_dev, "folds=0",
                          "stages.objectives.data.folds=3", "tests.folds=3"}),
              HasSubstr("chooses by `part: test`"));
}

}  // namespace
}  // namespace simile
