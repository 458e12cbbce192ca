// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/pair_tasks.h"

#include <gmock/gmock.h>

#include <cmath>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/predictions.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

// A text, or of a pair the right one, holds the head's logits.
class LogitReader {
 public:
  explicit LogitReader(HeadOutput output) : output_(std::move(output)) {}

  HeadOutput operator()(const std::string& head, const Texts& left, const Texts& right) const {
    EXPECT_EQ(head, "sentiment");
    HeadOutput output = output_;
    const Texts& texts = right.empty() ? left : right;
    for (const std::string& text : texts) {
      const char* from = text.c_str();
      for (int64_t c = 0; c < output.logits.cols; ++c) {
        char* next = nullptr;
        output.logits.values.push_back(std::strtof(from, &next));
        from = next;
      }
      ++output.logits.rows;
    }
    return output;
  }

 private:
  HeadOutput output_;
};

EmbeddingScorer scorer_with(const std::string& kind, const Texts& classes, int64_t columns) {
  return EmbeddingScorer(
      "reader",
      [](const Texts& texts) { return Matrix<float>(static_cast<int64_t>(texts.size()), 1, 1); },
      Similarity::kCosine, {}, LogitReader(HeadOutput{kind, classes, Matrix<float>(0, columns)}));
}

EvaluationOptions options_for(const std::string& data) {
  EvaluationOptions options;
  options.task = "classification";
  options.data = data;
  options.head = "sentiment";
  return options;
}

TEST(ClassificationTask, ClassesOfDataAndHeadAreMatchedByName) {
  const TestFiles files;
  EmbeddingScorer scorer = scorer_with("classes", {"good", "bad", "so so"}, 3);
  const EvaluationOptions options =
      options_for(files.write("t.tsv",
                              "sentence\tlabel\n9 0 0\tgood\n0 9 0\tgood\n0 9 0\tbad\n"
                              "0 9 0\tbad\n"));
  const Report report = evaluate(options, scorer, files.path("p.tsv"));
  EXPECT_EQ(report.task, "classification");
  EXPECT_EQ(report.model, "reader");
  EXPECT_EQ(report.examples, 4);
  EXPECT_EQ(report.metrics[0].first, "accuracy");
  EXPECT_DOUBLE_EQ(report.metric("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(report.metric("macro_f1"), (2.0 / 3 + 0.8) / 2);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("1 of 3 classes are neither in the data")));
  EXPECT_THAT(report.confusion.classes, ElementsAre("good", "bad", "so so"));
  EXPECT_THAT(report.confusion.counts.values, ElementsAre(1, 1, 0, 0, 2, 0, 0, 0, 0));
  const std::string predictions = read_file(files.path("p.tsv"));
  EXPECT_THAT(predictions, AllOf(HasSubstr("text\tgold\tpredicted\tprobability\n9 0 0\tgood\tgood"),
                                 HasSubstr("\n0 9 0\tgood\tbad\t0.999")));
  Predictions kept;
  load_task(options)->evaluate(scorer, "", &kept);
  write_predictions(files.path("kept.tsv"), kept);
  EXPECT_EQ(read_file(files.path("kept.tsv")), predictions);
}

TEST(ClassificationTask, PairsAreClassifiedToo) {
  const TestFiles files;
  EmbeddingScorer scorer = scorer_with("probability", {"no", "yes"}, 1);
  EvaluationOptions options = options_for(
      files.write("t.tsv", "sentence1\tsentence2\tgold\nx\t0\tno\ny\t2\tyes\nz\t-1\tyes\n"));
  options.columns.text = "";
  options.columns.label = "gold";
  const Report report = evaluate(options, scorer, files.path("p.tsv"));
  EXPECT_DOUBLE_EQ(report.metric("accuracy"), 2.0 / 3);
  EXPECT_THAT(report.notes, IsEmpty());
  // Among equally probable classes the first is taken.
  EXPECT_THAT(read_file(files.path("p.tsv")),
              HasSubstr("left\tright\tgold\tpredicted\tprobability\nx\t0\tno\tno\t0.5\n"));
}

TEST(ClassificationTask, AHeadThatDoesNotFitIsRefused) {
  const TestFiles files;
  const auto data = files.write("t.tsv", "sentence\tlabel\n1 2\tgood\n2 1\tawful\n");
  EmbeddingScorer scorer = scorer_with("classes", {"bad", "good"}, 2);
  EXPECT_THAT(error_of([&] { evaluate(options_for(data), scorer); }),
              HasSubstr("t.tsv: the head does not know the class 'awful'; the data has the classes "
                        "awful, good, the head bad, good"));
  EmbeddingScorer number = scorer_with("score", {}, 1);
  EXPECT_THAT(error_of([&] { evaluate(options_for(data), number); }),
              HasSubstr("expected a head that tells classes apart"));
  EmbeddingScorer headless("plain", nullptr);
  EXPECT_THAT(error_of([&] { evaluate(options_for(data), headless); }),
              HasSubstr("plain has no heads, so none called 'sentiment'"));
}

TEST(ClassificationTask, OptionsThatDoNotFitAreRefused) {
  const TestFiles files;
  const auto error_with = [](const EvaluationOptions& options) {
    return error_of([&] { load_task(options); });
  };
  EXPECT_THAT(error_with(options_for("")), HasSubstr("needs 'data', a file of texts with a class"));
  EvaluationOptions options = options_for("t.tsv");
  options.dev = "d.tsv";
  EXPECT_THAT(error_with(options), HasSubstr("classification does not take: dev;"));
  options.dev = "";
  options.columns.score = "gold";
  EXPECT_THAT(error_with(options), HasSubstr("does not take: score"));
  options.task = "sts";
  options.columns.label = "gold";
  EXPECT_THAT(error_with(options), HasSubstr("does not take: label"));
  options = EvaluationOptions();
  options.task = "ranking";
  options.head = "sentiment";
  EXPECT_THAT(error_with(options), HasSubstr("ranking does not take: head;"));
}

TEST(ClassificationTask, AHeadMayScorePairsOfOtherTasks) {
  const TestFiles files;
  EmbeddingScorer scorer = scorer_with("score", {}, 1);
  EvaluationOptions options = options_for(
      files.write("t.tsv", "sentence1\tsentence2\tscore\nx\t-3\t0\ny\t2\t0\nz\t7\t1\n"));
  options.task = "pairs";
  EXPECT_DOUBLE_EQ(evaluate(options, scorer).metric("threshold"), 4.5);
  options.task = "sts";
  EXPECT_NEAR(evaluate(options, scorer, files.path("p.tsv")).metric("pearson"), std::sqrt(0.75),
              1e-12);
  EXPECT_THAT(read_file(files.path("p.tsv")), HasSubstr("x\t-3\t0\t-3\n"));
  options.head = "";
  EXPECT_THAT(evaluate(options, scorer).notes, ElementsAre(HasSubstr("all scores are equal")));
}

}  // namespace
}  // namespace simile
