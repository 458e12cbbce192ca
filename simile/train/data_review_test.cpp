// SPDX-License-Identifier: Apache-2.0
// Messages to a newcomer about the data before the first step.
#include "simile/train/data_review.h"

#include <gmock/gmock.h>

#include <functional>

#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Told : public EventSink {
 public:
  void info(const std::string& message) override { infos.push_back(message); }
  void warning(const std::string& message) override { warnings.push_back(message); }
  void progress(const Progress& progress) override {
    if (progress.unit == "pairs") throw Error(ErrorKind::kInterrupted, "the first step");
  }
  std::vector<std::string> infos, warnings;
};

class DataReviewTest : public testing::RunTest {
 protected:
  DataReviewTest() {
    write("a.tsv", table(0, 200));
    write("b.tsv", table(200, 300));
  }

  // A text of four words of its own, and an answer to it of `words` words.
  static std::string question(int i) {
    return fmt::format("w{} w{} w{} w1", i % 40, i / 40 % 40, i % 7);
  }
  static std::string answer(int i) {
    return fmt::format("w{} w{} w2 w2 w3 w3 w4 w5 w6", i % 40, i / 40 % 40);
  }
  static std::string table(int begin, int end) {
    std::string text = "sentence1\tsentence2\tscore\n";
    for (int i = begin; i < end; ++i) {
      text += fmt::format("{}\t{}\t{}\n", question(i), answer(i), i % 6);
    }
    return text;
  }
  void write_ranking(int begin, int end) const {
    std::string queries = "id\ttext\n", corpus = queries, qrels = "query_id\tdoc_id\trelevance\n";
    for (int i = begin; i < end; ++i) {
      queries += fmt::format("q{}\t{}\n", i, question(i));
      qrels += fmt::format("q{}\td{}\t1\n", i, i);
    }
    for (int i = 0; i < end; ++i) corpus += fmt::format("d{}\t{}\n", i, answer(i));
    write("queries.tsv", queries);
    write("corpus.tsv", corpus);
    write("qrels.tsv", qrels);
  }

  ConfigNode recipe(const std::vector<std::string>& overrides) const {
    write("recipe.yaml", R"(
name: small
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 10
stages:
  objectives: {data: {path: a.tsv, score_scale: 5}, loss: mse, batch_size: 8}
  epochs: 1
evaluations: {name: dev, task: sts, data: b.tsv}
)");
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  RunReview review(const std::vector<std::string>& overrides = {}) const {
    return review_recipe(recipe(overrides), silent_events());
  }

  // The error of train(); a run that its data does not stop is stopped at its first step.
  std::string error(const std::vector<std::string>& overrides, Told& told) const {
    try {
      train(recipe(overrides), path("run"), false, true, told);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static std::string data(const std::string& what) { return "stages.0.objectives.0.data." + what; }
  std::string ranking() const {
    return fmt::format(
        "tests=[{{name: rank, task: ranking, queries: {}, corpus: {}, qrels: {}, metrics: [mrr]}}]",
        path("queries.tsv"), path("corpus.tsv"), path("qrels.tsv"));
  }
};

TEST_F(DataReviewTest, EveryDataSetIsReportedInAFewLines) {
  const RunReview found = review();
  const std::string file = path("a.tsv");
  EXPECT_THAT(
      found.report,
      ElementsAre(file + ": 200 pairs of 400 distinct texts; scores from 0 to 1, mean 0.496",
                  file + ": tokens of a text: median 6, 95 % up to 10, longest 10; 200 (50.0 %) "
                         "cut at the limit of 10",
                  file + ": overlap with evaluation 'dev': 0 of 100 pairs, 0.0 % of its texts"));
  EXPECT_THAT(found.findings, IsEmpty());
}

TEST_F(DataReviewTest, ATextOfExactlyTheLimitIsNotCut) {
  EXPECT_THAT(review({"max_length=11"}).report[1], HasSubstr("longest 11; 0 (0.0 %) cut at"));
}

TEST_F(DataReviewTest, DevDataAndClassesAreReported) {
  write("classes.tsv", "sentence\tlabel\nw1 w2\tgood\nw3\tbad\nw1, W2!\tgood\n");
  const RunReview found = review(
      {fmt::format("stages.0.objectives=[{{data: {{path: {0}, format: classes}}, dev: {{path: {0}, "
                   "limit: 1}}, loss: {{name: triplet, mining: batch_all}}, batch_size: 2}}]",
                   path("classes.tsv"))});
  EXPECT_THAT(found.report[0],
              HasSubstr("3 texts of 2 distinct texts, 1 repeated; classes: bad 1, good 2"));
  EXPECT_THAT(found.report, Contains(HasSubstr("1 texts of 1 distinct texts")));
}

// Data that cannot train anything is an error, doubtful data a warning; sound data gets neither.
TEST_F(DataReviewTest, DataThatCannotTeachIsToldOnce) {
  std::string shared = "sentence1\tsentence2\tscore\n", same = shared, equal = shared;
  std::string blank = "sentence1\tsentence2\tscore\nw1 w2\t...\t5\n";
  for (int i = 0; i < 40; ++i) {
    shared += fmt::format("{}\t{}\t5\n", question(i), answer(i % 2));
    same += fmt::format("{}\t{}\t5\n", question(i), answer(1));
    equal += fmt::format("{}\t{}\t5\n", question(i), answer(i));
    blank += fmt::format("{}\t{}\t{}\n", question(i), answer(i), i % 6);
  }
  write("shared.tsv", shared);
  write("same.tsv", same);
  write("equal.tsv", equal);
  write("blank.tsv", blank);
  write("one.tsv", "sentence1\tsentence2\tscore\nw1 w2\tw3 w4\t5\n");
  write("class.tsv", "sentence\tlabel\nw1 w2\tgood\nw3 w4\tgood\n");
  const auto of = [&](const std::string& loss, const std::string& file = "a.tsv",
                      const std::string& more = "batch_size: 8") {
    return fmt::format("stages.0.objectives=[{{data: {{path: {}, score_scale: 5}}, loss: {}, {}}}]",
                       path(file), loss, more);
  };
  const std::string same_columns =
      "data: {path: " + path("a.tsv") + ", score_scale: 5, right: sentence1}, batch_size: 8";
  struct Case {
    std::vector<std::string> overrides;
    bool is_mistake;
    std::string message;  // empty: nothing is found
  };
  const std::vector<Case> cases = {
      {{of("bsc")}, false, ""},
      {{of("mnrl", "a.tsv", "batch_size: 1")}, true, "loss 'mnrl' compares each example with the"},
      {{of("{name: sum, of: [mse, bsc]}", "a.tsv", "batch_size: 1")}, true, "objectives.0.batch_s"},
      {{of("{name: mse}", "a.tsv", "batch_size: 1")}, false, ""},
      {{of("simcse", "one.tsv")}, true, "the data has one example"},
      {{of("cosent", "a.tsv", "batch_size: 1")}, true, "a batch has one pair"},
      {{of("cosent", "equal.tsv")}, true, "all 40 scores are 1"},
      {{of("pearson", "equal.tsv")}, true, "For pairs that all belong together take mnrl or bsc"},
      {{of("angle", "equal.tsv")}, true, "loss 'angle' compares pairs of different scores"},
      {{of("mse", "equal.tsv")}, false, "all vectors may become alike (collapse)"},
      {{of("{name: combo, mu: 0.5}", "equal.tsv")}, false, ""},
      {{of("bsc", "same.tsv")}, true, "the right text of all 40 pairs is the same"},
      {{of("{name: bsc, duplicates: negatives}", "shared.tsv")},
       false,
       "3.4 other pairs have a pair's right text"},
      {{of("bsc", "shared.tsv")}, false, ""},  // masked by default
      {{of("rcl_entropy", "shared.tsv")}, false, "order=no_duplicates"},
      {{"stages.0.objectives=[{loss: mse, " + same_columns + "}]"}, true, "learns nothing"},
      {{"stages.0.objectives=[{loss: bsc, " + same_columns + "}]"}, false, "only pushes texts"},
      {{"stages.0.objectives=[{loss: simcse, " + same_columns + "}]"}, false, ""},
      {{data("negatives") + "=[sentence2]"}, true, "as `right` and as `negatives`"},
      {{of("mse", "blank.tsv")}, false, "1 of 82 texts have no letter or digit"},
      {{"stages.0.epochs=0"}, false, "NOTHING IS TRAINED"},
      {{fmt::format("stages.0.objectives=[{{data: {{path: {}, format: classes}}, loss: {{name: "
                    "triplet, mining: batch_all}}, batch_size: 2}}]",
                    path("class.tsv"))},
       true,
       "all 2 examples are of one class"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.overrides[0]);
    const RunReview found = review(c.overrides);
    if (c.message.empty()) {
      EXPECT_THAT(found.findings, IsEmpty());
    } else {
      ASSERT_EQ(found.findings.size(), 1U);
      EXPECT_EQ(found.findings[0].is_mistake, c.is_mistake);
      EXPECT_THAT(found.findings[0].message, HasSubstr(c.message));
    }
  }
}

TEST_F(DataReviewTest, ATestInTheTrainingDataStopsTheRun) {
  write("leak.tsv", table(190, 290));
  const std::string test =
      fmt::format("tests=[{{name: leaked, task: sts, data: {}}}]", path("leak.tsv"));
  Told told;
  EXPECT_THAT(error({test}, told),
              AllOf(HasSubstr("a.tsv: 10 of the 100 pairs of the test 'leaked' (10.0 %) stand in "
                              "this training data, such as 'w30 w4 w1 w1' | 'w30 w4 w2"),
                    HasSubstr("leave them out with stages.0.objectives.0.data.exclude=[" +
                              path("leak.tsv")),
                    EndsWith("set data_checks: warn")));
  EXPECT_FALSE(folder_exists(path("run")));
  EXPECT_EQ(error({test, "data_checks=warn"}, told),
            "the first step; saved at stage 1 step 1: add --resume to go on");
  EXPECT_THAT(told.warnings, Contains(HasSubstr("10 of the 100 pairs")));
  Told quiet;
  EXPECT_THAT(error({test, "data_checks=off"}, quiet), HasSubstr("the first step"));
  EXPECT_THAT(quiet.warnings, Not(Contains(HasSubstr("10 of the 100 pairs"))));
  EXPECT_THAT(quiet.infos, Contains(HasSubstr("10 of 100 pairs")));
  Told mended;
  EXPECT_THAT(error({test, data("exclude=[") + path("leak.tsv") + "]"}, mended),
              HasSubstr("the first step"));
}

TEST_F(DataReviewTest, AFewPairsInCommonAreAWarning) {
  write("leak.tsv", table(195, 295));
  const RunReview found =
      review({fmt::format("tests=[{{name: t, task: sts, data: {}}}]", path("leak.tsv"))});
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_FALSE(found.findings[0].is_mistake);
  EXPECT_THAT(found.findings[0].message, HasSubstr("5 of the 100 pairs of the test 't' (5.0 %)"));
}

TEST_F(DataReviewTest, ARankingMayShareItsCorpusButNotItsJudgements) {
  write_ranking(200, 220);
  EXPECT_THAT(review({ranking()}).findings, IsEmpty());
  write_ranking(190, 210);
  const RunReview found = review({ranking()});
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_TRUE(found.findings[0].is_mistake);
  EXPECT_THAT(found.findings[0].message,
              AllOf(HasSubstr("10 of the 20 judged pairs of the test 'rank'"),
                    HasSubstr("data.exclude=[" + path("queries.tsv"))));
  EXPECT_THAT(found.report, Contains(HasSubstr("10 of 20 judged pairs, 10 of 20 queries, 10 of 20 "
                                               "relevant documents (of 10 pairs)")));
}

TEST_F(DataReviewTest, ExchangedSidesStopTheRun) {
  write_ranking(200, 220);
  const RunReview found =
      review({ranking(), data("left=sentence2"), data("right=sentence1"), "evaluations=[]"});
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_TRUE(found.findings[0].is_mistake);
  EXPECT_THAT(found.findings[0].message,
              AllOf(HasSubstr("a.tsv: left and right are exchanged against the test 'rank': 200 "
                              "texts (100.0 % of a side)"),
                    HasSubstr("exchange data.left and data.right in stages.0.objectives.0 (now "
                              "left: sentence2, right: sentence1)")));
}

TEST_F(DataReviewTest, OppositeLengthsAreAWarningForALossWithADirection) {
  const std::vector<std::string> turned = {data("left=sentence2"), data("right=sentence1"),
                                           "evaluations.0.data=" + path("b.tsv")};
  std::vector<std::string> directed = turned;
  directed.push_back("stages.0.objectives.0.loss=mnrl");
  EXPECT_THAT(review(turned).findings, IsEmpty());
  const RunReview found = review(directed);
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_FALSE(found.findings[0].is_mistake);
  EXPECT_THAT(found.findings[0].message, HasSubstr("left texts have 9 words and right texts 4"));
}

TEST_F(DataReviewTest, ASideThatHoldsNoTextsStopsTheRun) {
  const RunReview found = review({data("right=score")});
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_TRUE(found.findings[0].is_mistake);
  EXPECT_THAT(
      found.findings[0].message,
      AllOf(HasSubstr("`right` is mapped to the column 'score', which holds numbers"),
            HasSubstr("set right: sentence2"), EndsWith("(in stages.0.objectives.0.data)")));
  EXPECT_THAT(review({"evaluations.0.left=score"}).findings[0].message,
              EndsWith("(in evaluation 'dev'.data)"));
}

TEST_F(DataReviewTest, ScoresThatAreNotScaledAreToldHowToBe) {
  Told told;
  EXPECT_THAT(
      error({data("score_scale=1")}, told),
      AllOf(HasSubstr(path("a.tsv") + ": loss 'mse' needs targets between 0 and 1; the data has "
                                      "pairs (left, right) with targets from 0 to 5"),
            HasSubstr("set data.score_scale: 5 (the scores lie between 0 and 5)")));
  const RunReview found = review({data("score_scale=100")});
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_FALSE(found.findings[0].is_mistake);
  EXPECT_THAT(found.findings[0].message, HasSubstr("the highest target is 0.05"));
}

}  // namespace
}  // namespace simile
