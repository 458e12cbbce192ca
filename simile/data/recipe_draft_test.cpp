// SPDX-License-Identifier: Apache-2.0
#include "simile/data/recipe_draft.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A table with the header and `rows` copies of the row, where # is the row's number, % its number
// modulo 3 and & that modulo 2.
std::string many(const std::string& header, const std::string& row, int rows = 30) {
  std::string text = header + "\n";
  for (int i = 0; i < rows; ++i) {
    for (const char c : row) {
      text += c == '#'   ? std::to_string(i)
              : c == '%' ? std::to_string(i % 3)
              : c == '&' ? std::to_string(i % 2)
                         : std::string(1, c);
    }
    text += "\n";
  }
  return text;
}

class RecipeDraftTest : public ::testing::Test {
 protected:
  // The recipe for a file; that it trains is for tests/init_test.cpp to show.
  std::string yaml_for(const std::string& file, DraftOptions options = {}) {
    options.data = files_.path(file);
    const RecipeDraft draft = draft_recipe(options);
    found_ = draft.found;
    return draft.yaml;
  }
  std::string error_for(const std::string& file, DraftOptions options = {}) {
    return error_of([&] { yaml_for(file, std::move(options)); });
  }

  const TestFiles files_;
  std::string found_;
};

TEST_F(RecipeDraftTest, IsOneForTheTaskThatTheColumnsGive) {
  struct Case {
    const char *name, *header, *row, *columns, *loss, *evaluation;
  };
  const std::string cut = ", folds: 10, fold: 9, part: ";
  const Case cases[] = {
      {"question.csv", "question,answer", "how # is it,it is #",
       "left: question, right: answer, score: \"\"", "mnrl", "ranking"},
      {"order.csv", "answer,question,topic", "it is # so,how # is it,a-%",
       "left: question, right: answer, score: \"\"", "mnrl", "ranking"},
      {"foreign.tsv", "Frage\tId\tAntwort", "wie # ist es\t#\tes ist # so",
       "left: Frage, right: Antwort, score: \"\"", "mnrl", "ranking"},
      {"triple.tsv", "anchor\tpositive\tnegative_1\tnegative_2",
       "a text #\tb text #\tc text #\td text #",
       "left: anchor, right: positive, score: \"\", negatives: [negative_1, negative_2]", "mnrl",
       "ranking"},
      {"scored.tsv", "sentence1\tsentence2\tscore", "a text #\tb text #\t%",
       "left: sentence1, right: sentence2, score: score, score_scale: 2", "cosent", "sts"},
      {"rated.tsv", "rating\ta\tb\tuser_id", "4.%\ta text #\tb text #\t%",
       "left: a, right: b, score: rating, score_offset: 1, score_scale: 4", "cosent", "sts"},
      {"labelled.tsv", "id\tquestion1\tquestion2\tis_duplicate", "#\ta text #\tb text #\t&",
       "left: question1, right: question2, score: is_duplicate", "cosent", "pairs"},
      {"classes.csv", "text,label", "a text #,\"class %\"", "format: classes, ",
       "softmax_classification", "classification"},
      {"lines.jsonl", "{\"text\": \"first one\", \"label\": 0}",
       "{\"text\": \"a text #\", \"label\": %}", "text: text, label: label",
       "softmax_classification", "classification"},
      {"topics.tsv", "q1\tq2\ttopic\tviews", "a text #\tb text #\tt%\t1%%",
       "left: q1, right: q2, score: \"\"", "mnrl", "ranking"},
      {"unnamed.tsv", "q1\tq2\tlabel", "a text #\tb text #\t&", "left: q1, right: q2, score: label",
       "cosent", "pairs"},
      {"nli.tsv", "premise\thypothesis\tlabel", "a text #\tb text #\t%",
       "text: \"\", left: premise, right: hypothesis, label: label", "softmax_classification",
       "classification"},
      {"named.jsonl", "{\"my text\": \"first one\", \"b\": \"and two\", \"same\": true}",
       "{\"my text\": \"a text #\", \"b\": \"b text #\", \"same\": false}",
       "text: \"\", left: \"my text\", right: b, label: same", "softmax_classification",
       "classification"},
  };
  for (const Case& one : cases) {
    std::string table = many(one.header, one.row);
    if (std::string(one.name) == "named.jsonl") table += many(one.header, one.header, 9);
    files_.write(one.name, table);
    const std::string yaml = yaml_for(one.name);
    EXPECT_THAT(yaml, AllOf(HasSubstr(one.columns), HasSubstr(cut + "train}"),
                            HasSubstr(fmt::format("loss: {}  #", one.loss)),
                            HasSubstr(fmt::format("{{name: dev, task: {}, data: ", one.evaluation)),
                            HasSubstr(cut + "test"), Not(HasSubstr("tests:"))))
        << one.name;
  }
}

TEST_F(RecipeDraftTest, ALargerTableGivesDevAndTestAPart) {
  files_.write("pairs.tsv", many("a\tb", "text a #\ttext b #", 1000));
  EXPECT_THAT(
      yaml_for("pairs.tsv"),
      AllOf(HasSubstr("score: \"\", folds: 10, fold: 8, part: fit}"),
            HasSubstr("evaluations: {name: dev, task: ranking, data: "),
            HasSubstr("fold: 8, part: dev}"), HasSubstr("tests: {name: test, task: ranking"),
            HasSubstr("fold: 8, part: test}"), HasSubstr("batch_size: 64\n  epochs: 10\n")));
  files_.write("long.tsv", many("a\tb", "text a #\ttext b #", 20000));
  EXPECT_THAT(yaml_for("long.tsv"), HasSubstr("epochs: 3\n"));
}

TEST_F(RecipeDraftTest, FilesBesideATrainingTableAreTakenWhereTheyFit) {
  const std::string table = many("sentence1\tsentence2\tscore", "a #\tb #\t%");
  files_.write("train.tsv", table);
  files_.write("valid.tsv", table);
  files_.write("test.tsv", many("sentence1\tsentence2", "a #\tb #"));
  const std::string yaml = yaml_for("train.tsv");
  EXPECT_THAT(yaml, AllOf(HasSubstr("task: sts, data: " + files_.path("valid.tsv") + ", left"),
                          Not(HasSubstr("tests:")), Not(HasSubstr("folds"))));
  EXPECT_THAT(found_,
              HasSubstr("not used: " + files_.path("test.tsv") + ", which has no column 'score'"));
  DraftOptions given;
  given.test = files_.write("other.tsv", table);
  EXPECT_THAT(yaml_for("train.tsv", given), HasSubstr("task: sts, data: " + given.test + ", left"));
  EXPECT_THAT(error_for("test.tsv"),
              HasSubstr("is named as a test, on which nothing may train; give '" +
                        files_.path("train.tsv")));
}

TEST_F(RecipeDraftTest, ARankingSetBesideATrainingTableTests) {
  files_.write("train.csv", many("query,passage", "how # is it,it is #"));
  files_.write("queries.tsv", "id\ttext\nq\tone\n");
  files_.write("corpus.tsv", "id\ttext\nd\tone\n");
  files_.write("qrels.test.tsv", "query_id\tdoc_id\trelevance\nq\td\t1\n");
  EXPECT_THAT(yaml_for("train.csv"),
              AllOf(HasSubstr("tests: {name: test, task: ranking, folder: " +
                              files_.path("").substr(0, files_.path("").size() - 1)),
                    HasSubstr(", split: test}"), HasSubstr("fold: 9, part: train")));
}

TEST_F(RecipeDraftTest, ColumnsAreThoseThatAreNamed) {
  files_.write("t.tsv", many("a\tb\tc\tx\ty", "text a #\ttext b #\ttext c #\t%\t&"));
  DraftOptions given;
  given.left = "c";
  given.right = "a";
  EXPECT_THAT(yaml_for("t.tsv", given), HasSubstr("left: c, right: a, score: \"\""));
  given.score = "y";
  EXPECT_THAT(yaml_for("t.tsv", given), HasSubstr("left: c, right: a, score: y"));
  given.score = "";
  given.label = "x";
  EXPECT_THAT(yaml_for("t.tsv", given), HasSubstr("text: \"\", left: c, right: a, label: x"));
  given.label = "z";
  EXPECT_THAT(error_for("t.tsv", given),
              HasSubstr("no column 'z' is there, or free, for the class"));
}

TEST_F(RecipeDraftTest, AScoreWithFieldsThatAreNoNumbersIsNotLeftOut) {
  const std::string header = "sentence1\tsentence2\tscore";
  for (const char* score : {"NaN", "1,25", "5%%", "good"}) {
    files_.write("t.tsv", many(header, fmt::format("a text #\tb text #\t{}", score)));
    EXPECT_THAT(yaml_for("t.tsv"), HasSubstr("right: sentence2, score: score")) << score;
  }
  files_.write("t.tsv", many(header, "a text #\tb text #\t0.#") + "one text\tits pair\tnone\n");
  EXPECT_THAT(yaml_for("t.tsv"), HasSubstr("right: sentence2, score: score"));
}

TEST_F(RecipeDraftTest, NamesMayHoldLineBreaks) {
  files_.write("t.csv", many("\"the\nquestion\",answer", "how # is it,it is #"));
  EXPECT_THAT(yaml_for("t.csv"), HasSubstr("left: \"the\\nquestion\", right: answer"));
}

TEST_F(RecipeDraftTest, ATableThatTellsNothingIsRefused) {
  files_.write("t.tsv", many("id\ttext", "#\ta text #"));
  EXPECT_THAT(error_for("t.tsv"),
              HasSubstr("found no two columns of texts, nor one beside a class"));
  files_.write("numbers.tsv", many("a\tb", "#\t%"));
  EXPECT_THAT(error_for("numbers.tsv"), HasSubstr("they look like a (numbers from 0 to 29)"));
  EXPECT_THAT(error_for("nowhere.tsv"), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace simile
