// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/predictions.h"

#include <gmock/gmock.h>

#include <random>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/metric/agreement.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Ranks documents by position in the corpus and finds two of them.
class FirstTwo : public Scorer {
 public:
  std::string name() const override { return "first two"; }
  std::vector<double> score_pairs(const std::vector<std::string>& left,
                                  const std::vector<std::string>&) override {
    return std::vector<double>(left.size(), 0.5);
  }
  std::vector<Ranking> rank(const std::vector<std::string>& queries,
                            const std::vector<std::string>&,
                            const std::vector<std::vector<int64_t>>&, int64_t) override {
    return std::vector<Ranking>(queries.size(), {{0, 2}, {1, 1}});
  }
};

EvaluationOptions named(const std::string& task, const std::string& name) {
  EvaluationOptions options;
  options.task = task;
  options.name = name;
  return options;
}

TEST(Predictions, FilesAreNamedAfterTheEvaluation) {
  EXPECT_EQ(predictions_file("p", "sts", "dev"), "p/dev.tsv");
  EXPECT_EQ(predictions_file("p", "ranking", "test-seen"), "p/test-seen.trec");
  EXPECT_EQ(predictions_file("p", "pairs", ""), "p/pairs.tsv");
  EXPECT_EQ(predictions_file("p", "sts", "../a/b%"), "p/%2E.%2Fa%2Fb%25.tsv");
  EXPECT_EQ(query_table_file("p/test.trec"), "p/test.queries.tsv");
  EXPECT_EQ(query_table_file("p/run"), "p/run.queries.tsv");
}

EvaluationOptions ranking_options(const TestFiles& files) {
  EvaluationOptions options = named("ranking", "test");
  options.metrics = {"map", "p@1"};
  options.ties = "input";
  options.ranking.queries =
      files.write("q.tsv", "id\ttext\nq1\tone\nq2\ttwo\nq3\tthree\nq4\tnot judged\n");
  options.ranking.corpus =
      files.write("c.jsonl",
                  "{\"id\":\"d1\",\"text\":\"first\\ttab\\nline\"}\n"
                  "{\"id\":\"d2\",\"text\":\"second\"}\n{\"id\":\"d3\",\"text\":\"third\"}\n"
                  "{\"id\":\"d4\",\"text\":\"fourth\"}\n");
  options.ranking.qrels = files.write("r.tsv", "q1 0 d2 1\nq2 0 d3 1\nq2 0 d4 2\nq3 0 d9 1\n");
  options.ranking.allow_unknown = true;
  return options;
}

TEST(Predictions, OfARankingHaveATableOfItsQueries) {
  const TestFiles files;
  FirstTwo scorer;
  const Report report = evaluate(ranking_options(files), scorer, files.path("test.trec"));
  EXPECT_EQ(
      read_file(files.path("test.queries.tsv")),
      "query_id\tquery\tmap\tp@1\tfirst_relevant\ttop_id\ttop_text\trelevant_id\trelevant_text\n"
      "q1\tone\t0.5\t0\t2\td1\tfirst tab line\td2\tsecond\n"
      "q2\ttwo\t0\t0\t0\td1\tfirst tab line\td4\tfourth\n"
      "q3\tthree\t0\t0\t0\td1\tfirst tab line\t\t\n");
  const Predictions read = read_predictions(files.path("test.trec"));
  EXPECT_EQ(read.kind, PredictionKind::kQueries);
  EXPECT_THAT(read.left, ElementsAre("q1", "q2", "q3"));
  EXPECT_THAT(read.metrics, ElementsAre("map", "p@1"));
  EXPECT_THAT(read.first_relevant, ElementsAre(2, 0, 0));
  EXPECT_THAT(read.relevant_text, ElementsAre("second", "fourth", ""));
  const Report again = report_predictions(read);
  EXPECT_EQ(again.task, "ranking");
  EXPECT_EQ(again.metrics, report.metrics);
  EXPECT_EQ(again.examples, report.examples);
}

TEST(Predictions, OfARankingGoAloneIntoAStream) {
  FirstTwo scorer;
  evaluate(ranking_options(TestFiles()), scorer, "/dev/null");
  EXPECT_FALSE(file_exists(query_table_file("/dev/null")));
}

TEST(Predictions, IdsThatARunCannotHoldAreRefusedBeforeTheWork) {
  class Idle : public FirstTwo {
    std::vector<Ranking> rank(const std::vector<std::string>& queries,
                              const std::vector<std::string>& documents,
                              const std::vector<std::vector<int64_t>>& candidates,
                              int64_t depth) override {
      ++calls;
      return FirstTwo::rank(queries, documents, candidates, depth);
    }

   public:
    int calls = 0;
  };
  const TestFiles files;
  EvaluationOptions options = ranking_options(files);
  files.write("c.jsonl",
              "{\"id\":\"d 1\",\"text\":\"first\"}\n{\"id\":\"d2\",\"text\":\"second\"}\n");
  files.write("r.tsv", "query_id\tdoc_id\trelevance\nq1\td 1\t1\n");
  Idle scorer;
  EXPECT_THAT(error_of([&] { evaluate(options, scorer, files.path("test.trec")); }),
              HasSubstr("test.trec: the id 'd 1' cannot stand in a TREC run"));
  EXPECT_EQ(scorer.calls, 0);
  EXPECT_EQ(*evaluate(options, scorer).find_metric("p@1"), 1);
}

TEST(Predictions, InMemoryAreThoseOfTheFiles) {
  const TestFiles files;
  FirstTwo scorer;
  const std::string pairs = files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\nc\td\t0\n");
  std::vector<EvaluationOptions> all = {named("sts", "a"), named("pairs", "b"),
                                        ranking_options(files)};
  all[0].data = all[1].data = pairs;
  for (const EvaluationOptions& options : all) {
    const auto task = load_task(options);
    Predictions with_file, alone;
    const std::string path = predictions_file(files.path(""), options.task, options.name);
    const Report report = task->evaluate(scorer, path, &with_file);
    EXPECT_EQ(task->evaluate(scorer, "", &alone).metrics, report.metrics);
    const std::string written = options.task == "ranking" ? query_table_file(path) : path;
    for (const Predictions& kept : {with_file, alone}) {
      write_predictions(files.path("kept.tsv"), kept);
      EXPECT_EQ(read_file(files.path("kept.tsv")), read_file(written)) << options.task;
    }
  }
}

TEST(Predictions, AreReadByTheirColumns) {
  const TestFiles files;
  const Predictions pairs = read_predictions(
      files.write("p.tsv", "left\tright\tgold\tscore\na\tb\t1\t0.5\n\td\t0\t-2\n"));
  EXPECT_EQ(pairs.kind, PredictionKind::kScores);
  EXPECT_THAT(pairs.left, ElementsAre("a", ""));
  EXPECT_THAT(pairs.score, ElementsAre(0.5, -2));
  const Predictions texts = read_predictions(
      files.write("c.tsv", "text\tgold\tpredicted\tprobability\na\tgood\tbad\t0.75\n"));
  EXPECT_EQ(texts.kind, PredictionKind::kClasses);
  EXPECT_THAT(texts.right, IsEmpty());
  EXPECT_THAT(texts.predicted, ElementsAre("bad"));
  const Predictions both = read_predictions(
      files.write("c.tsv", "left\tright\tgold\tpredicted\tprobability\na\tb\tx\tx\t0.75\n"));
  EXPECT_THAT(both.right, ElementsAre("b"));
  EXPECT_THAT(both.gold_class, ElementsAre("x"));
  const std::string behind = "first_relevant\ttop_id\ttop_text\trelevant_id\trelevant_text\n";
  for (const auto& [seen, value] : {std::make_pair("", ""), std::make_pair("seen\t", "1\t")}) {
    const std::string table = std::string("query_id\tquery\tmap\t") + seen + behind +
                              "q\task\t0.5\t" + value + "2\td\tone\te\ttwo\n";
    const Predictions queries = read_predictions(files.write("q.queries.tsv", table));
    EXPECT_THAT(queries.metrics, ElementsAre("map"));
    EXPECT_EQ(queries.seen, std::vector<int64_t>(*seen == 0 ? 0 : 1, 1));
    EXPECT_THAT(queries.first_relevant, ElementsAre(2));
    files.write("q", "q Q0 d 1 2.5 run\n");  // the run, by a name without .trec
    EXPECT_THAT(read_predictions(files.path("q")).first_relevant, ElementsAre(2));
    files.write("t.tsv.queries.tsv", table);
    EXPECT_EQ(read_predictions(files.write("t.tsv", "q Q0 d 1 2.5 run\n")).size(), 1);
    write_predictions(files.path("again.tsv"), queries);
    EXPECT_EQ(read_file(files.path("again.tsv")), table);
  }
}

TEST(Predictions, WhatIsNoneIsRefused) {
  const TestFiles files;
  const auto other = files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\n");
  EXPECT_THAT(error_of([&] { read_predictions(other); }),
              AllOf(HasSubstr("not a file of predictions"), HasSubstr("sentence1, sentence2")));
  const auto run = files.write("r.trec", "q Q0 d 1 1 x\n");
  EXPECT_THAT(error_of([&] { read_predictions(run); }), HasSubstr("r.queries.tsv' is not there"));
  const auto bad = files.write("b.tsv", "left\tright\tgold\tscore\na\tb\t1\thigh\n");
  EXPECT_THAT(error_of([&] { read_predictions(bad); }), HasSubstr("b.tsv:2: column 'score'"));
  EXPECT_THAT(error_of([&] { read_predictions(files.path("none.tsv")); }), HasSubstr("none.tsv"));
}

TEST(Predictions, OfOtherExamplesAreToldApart) {
  const TestFiles files;
  const std::string head = "left\tright\tgold\tscore\n";
  const Predictions a = read_predictions(files.write("a.tsv", head + "x\ty\t1\t0.5\nu\tv\t2\t1\n"));
  const auto difference = [&](const std::string& rows) {
    const Predictions b = read_predictions(files.write("b.tsv", head + rows));
    return error_of([&] { check_same_examples(a, b); });
  };
  EXPECT_EQ(difference("x\ty\t1\t9\nu\tv\t2\t8\n"), "");
  EXPECT_THAT(difference("x\ty\t1\t0.5\nu\tw\t2\t1\n"),
              AllOf(HasSubstr("example 2 differs"), HasSubstr("'u', 'v'"), HasSubstr("'u', 'w'")));
  EXPECT_THAT(difference("x\ty\t3\t0.5\nu\tv\t2\t1\n"),
              AllOf(HasSubstr("example 1 differs"), HasSubstr("gold 1"), HasSubstr("gold 3")));
  EXPECT_THAT(difference("x\ty\t1\t0.5\n"), HasSubstr("has 2 examples"));
  const Predictions classes = read_predictions(
      files.write("c.tsv", "left\tright\tgold\tpredicted\tprobability\nx\ty\ta\ta\t1\n"));
  EXPECT_THAT(error_of([&] { check_same_examples(a, classes); }), HasSubstr("different kinds"));
}

TEST(Predictions, OfSeveralFilesAreJoinedInTheirOrder) {
  const TestFiles files;
  const std::string head = "left\tright\tgold\tscore\n";
  const std::string a = files.write("a.tsv", head + "x\ty\t1\t0.5\n");
  const std::string b = files.write("b.tsv", head + "u\tv\t2\t0.25\nx\ty\t1\t0.5\n");
  const Predictions joined = join_predictions({a, b}, files.path("all.tsv"));
  EXPECT_THAT(joined.gold, ElementsAre(1, 2, 1));
  EXPECT_THAT(read_predictions(files.path("all.tsv")).score, ElementsAre(0.5, 0.25, 0.5));
  const std::string text =
      files.write("c.tsv", "text\tgold\tpredicted\tprobability\nx\ta\tb\t0.5\n");
  EXPECT_THAT(error_of([&] {
                join_predictions({a, text}, files.path("all.tsv"));
              }),
              HasSubstr("predictions of different kinds"));
}

TEST(Predictions, OfSeveralRunsAreJoinedWithTheirRuns) {
  const TestFiles files;
  const std::string head =
      "query_id\tquery\tmap\tfirst_relevant\ttop_id\ttop_text\trelevant_id\trelevant_text\n";
  const auto write = [&](const std::string& name, const std::string& id) {
    files.write(name + ".queries.tsv", head + id + "\tasks\t0.5\t2\td1\tone\td2\ttwo\n");
    return files.write(name + ".trec", id + " Q0 d1 1 0.75 m\n" + id + " Q0 d2 2 0.5 m\n");
  };
  const std::string a = write("a", "q1"), b = write("b", "q2"), again = write("c", "q1");
  EXPECT_THAT(join_predictions({a, b}, files.path("all.trec")).left, ElementsAre("q1", "q2"));
  EXPECT_EQ(read_file(files.path("all.trec")), read_file(a) + read_file(b));
  const Predictions numbered = join_predictions({a, b, again}, files.path("all.trec"));
  EXPECT_THAT(numbered.left, ElementsAre("0.q1", "1.q2", "2.q1"));
  EXPECT_THAT(numbered.values[0], ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(read_file(files.path("all.trec")), HasSubstr("\n2.q1 Q0 d2 2 0.5 m\n"));
  EXPECT_THAT(read_predictions(files.path("all.trec")).left, ElementsAre("0.q1", "1.q2", "2.q1"));
}

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
  // Four draws of 0.25 or 0.75 are all alike in one of eight samples.
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
