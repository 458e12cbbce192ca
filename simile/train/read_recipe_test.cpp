// SPDX-License-Identifier: Apache-2.0
#include "simile/train/read_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/packed_files_test.h"
#include "simile/report/detail/run_fixture_test.h"
#include "simile/train/detail/run_test.h"

namespace simile {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct ResumedOptions {
  int64_t seed = 1;
  double rate = 0.1;
  void visit(OptionVisitor& v) {
    v.field("seed", seed, {""});
    v.field("rate", rate, {""});
  }
};

class ResumeWarnings : public EventSink {
 public:
  std::string text;
  void warning(const std::string& message) override { text += message; }
};

class ResumeCheckTest : public ::testing::Test, protected RunFixture {
 protected:
  std::string refusal(ResumedOptions options) {
    try {
      check_resumed_recipe(path("run"), options, warnings_);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
  }

  ResumeWarnings warnings_;
};

TEST_F(ResumeCheckTest, KeysThatDifferAreNamedWithBothValues) {
  write_in("run", "run.json", R"({"seed": 3, "environment": {"threads": 2}})");
  EXPECT_EQ(refusal({3, 0.1}), "");
  EXPECT_THAT(refusal({1, 0.1}), AllOf(HasSubstr("seed 3, now 1;"), Not(HasSubstr("rate")),
                                       HasSubstr("`simile train " + path("run") + " --resume`")));
  EXPECT_THAT(refusal({1, 0.5}), HasSubstr("seed 3, now 1; rate 0.1, now 0.5;"));
}

TEST_F(ResumeCheckTest, WhatCannotBeComparedPasses) {
  EXPECT_EQ(refusal({}), "");
  for (const char* text : {"", "{", R"({"speed": 3})"}) {
    write_in("run", "run.json", text);
    EXPECT_EQ(refusal({2, 0.1}), "") << text;
  }
  EXPECT_EQ(warnings_.text, "");
}

TEST_F(ResumeCheckTest, RunsOfVariantsAreToldOf) {
  write_in("run-large", "run.json", "{}");
  write_in("other", "run.json", "{}");
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(warnings_.text, HasSubstr("there are " + path("run-large") + ":"));
}

class ToldClasses : public EventSink {
 public:
  void info(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

class ClassNamesTest : public ::testing::Test, protected TestFiles {
 protected:
  ClassNamesTest() {
    write("news.tsv", "sentence\tlabel\na\tsport\nb\tarts\nc\tsport\n");
    HeadSettings head;
    head.name = "topic";
    head.output = "classes";
    options_.heads = {head};
    ObjectiveOptions objective;
    objective.data.path = path("news.tsv");
    objective.data.format = "classes";
    objective.head = "topic";
    options_.stages.resize(2);
    options_.stages[1].objectives = {objective};
  }

  std::vector<std::string> names() {
    fill_class_names(options_, told_);
    return options_.heads[0].class_names;
  }

  TrainOptions options_;
  ToldClasses told_;
};

TEST_F(ClassNamesTest, ComeFromTheDataThatTrainsTheHead) {
  EXPECT_THAT(names(), ElementsAre("arts", "sport"));
  EXPECT_EQ(told_.text, "the head 'topic' has the 2 classes of " + path("news.tsv") + "\n");
}

TEST_F(ClassNamesTest, GivenOnesStay) {
  options_.heads[0].class_names = {"sport", "arts", "rest"};
  EXPECT_THAT(names(), ElementsAre("sport", "arts", "rest"));
  EXPECT_EQ(told_.text, "");
}

TEST_F(ClassNamesTest, AreNotLookedForElsewhere) {
  options_.stages[1].objectives[0].head = "other";
  EXPECT_THAT(names(), IsEmpty());
  options_.stages[1].objectives[0].head = "topic";
  options_.stages[1].objectives[0].data.format = "table";
  EXPECT_THAT(names(), IsEmpty());
  options_.heads[0].output = "score";
  options_.stages[1].objectives[0].data.format = "classes";
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ClassNamesTest, AFileThatIsMissingIsNamed) {
  options_.stages[1].objectives[0].data.path = path("none.tsv");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { names(); }), HasSubstr("none.tsv"));
}

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
    EXPECT_THAT(error_with({data + other}), HasSubstr("cut other data")) << other;
  }
  EXPECT_THAT(error_with({data + "group=answer", "tests.group=answer"}), "");
  const std::string whole =
      "stages=[{objectives: [{data: {path: " + path("faq.tsv") +
      ", left: question, right: answer, score: '', part: train}, loss: mnrl}, {data: {path: " +
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
