// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/task.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/eval/predictions.h"
#include "simile/eval/ranking_task.h"
#include "simile/metric/agreement.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Texts = std::vector<std::string>;

// Scores a pair by the number that its right text is, a document by the number in its text.
class NumberScorer : public Scorer {
 public:
  std::string name() const override { return "number reader"; }
  std::vector<double> score_pairs(const Texts&, const Texts& right) override {
    std::vector<double> scores;
    for (const std::string& text : right) scores.push_back(std::atof(text.c_str()));
    return scores;
  }
  std::vector<Ranking> rank(const Texts& queries, const Texts& corpus,
                            const std::vector<std::vector<int64_t>>& candidates,
                            int64_t depth) override {
    std::vector<Ranking> rankings;
    for (size_t q = 0; q < queries.size(); ++q) {
      Ranking found;
      for (int64_t d = 0; d < static_cast<int64_t>(corpus.size()); ++d) {
        const bool wanted =
            candidates.empty() || std::count(candidates[q].begin(), candidates[q].end(), d) > 0;
        if (wanted) found.push_back({d, std::atof(corpus[static_cast<size_t>(d)].c_str())});
      }
      rankings.push_back(best_documents(found, depth));
    }
    return rankings;
  }
};

EvaluationOptions pair_options(const std::string& task, const std::string& data) {
  EvaluationOptions options;
  options.task = task;
  options.data = data;
  return options;
}

std::string pairs_of(const std::vector<std::pair<const char*, const char*>>& score_and_gold) {
  std::string text = "sentence1\tsentence2\tscore\n";
  for (const auto& pair : score_and_gold) {
    text += std::string("x\t") + pair.first + "\t" + pair.second + "\n";
  }
  return text;
}

std::string error_loading(const EvaluationOptions& options) {
  return error_of([&] { load_task(options); });
}

TEST(StsTask, ReportsCorrelationAndWritesPredictions) {
  const TestFiles files;
  NumberScorer scorer;
  const auto options =
      pair_options("sts", files.write("t.tsv", pairs_of({{"1", "1"}, {"2", "4"}, {"3", "9"}})));
  const Report report = evaluate(options, scorer, files.path("p.tsv"));
  EXPECT_EQ(report.task, "sts");
  EXPECT_EQ(report.model, "number reader");
  EXPECT_EQ(report.examples, 3);
  EXPECT_DOUBLE_EQ(report.metric("spearman"), 1);
  EXPECT_NEAR(report.metric("pearson"), 0.98974331861078702, 1e-12);
  EXPECT_EQ(read_file(files.path("p.tsv")),
            "left\tright\tgold\tscore\nx\t1\t1\t1\nx\t2\t4\t2\nx\t3\t9\t3\n");
}

TEST(StsTask, OfSeveralFilesReportsAllMeanAndWeightedMean) {
  const TestFiles files;
  NumberScorer scorer;
  files.write("year.a.tsv", pairs_of({{"1", "1"}, {"2", "2"}, {"3", "3"}}));
  files.write("year.b.tsv", pairs_of({{"10", "2"}, {"20", "1"}}));
  EvaluationOptions options = pair_options("sts", files.path("year.*.tsv"));
  const Report report = evaluate(options, scorer);
  EXPECT_EQ(load_task(options)->metric_names().size(), report.metrics.size());
  EXPECT_EQ(report.examples, 5);
  EXPECT_DOUBLE_EQ(report.metric("spearman:year.a"), 1);
  EXPECT_DOUBLE_EQ(report.metric("spearman:year.b"), -1);
  EXPECT_NEAR(report.metric("spearman_mean"), 0, 1e-12);
  EXPECT_NEAR(report.metric("spearman_wmean"), 0.2, 1e-12);
  EXPECT_NEAR(report.metric("pearson_wmean"), 0.2, 1e-12);
  const std::vector<double> gold = {1, 2, 3, 2, 1};
  EXPECT_DOUBLE_EQ(report.metric("spearman"), spearman({1, 2, 3, 10, 20}, gold));
  options.columns.limit = 4;
  EXPECT_EQ(evaluate(options, scorer).find_metric("spearman_mean"), nullptr);
}

TEST(StsTask, AFileWithoutACorrelationHasNoPartInTheMeans) {
  const TestFiles files;
  NumberScorer scorer;
  files.write("year.a.tsv", pairs_of({{"1", "1"}, {"2", "2"}, {"3", "3"}}));
  files.write("year.b.tsv", pairs_of({{"10", "2"}}));
  files.write("year.c.tsv", pairs_of({{"4", "3"}, {"5", "3"}}));
  files.write("year.d.tsv", pairs_of({{"30", "2"}, {"20", "3"}}));
  const EvaluationOptions options = pair_options("sts", files.path("year.*.tsv"));
  const Report report = evaluate(options, scorer);
  EXPECT_EQ(report.examples, 8);
  EXPECT_EQ(report.find_metric("spearman:year.b"), nullptr);
  EXPECT_EQ(report.find_metric("spearman:year.c"), nullptr);
  EXPECT_DOUBLE_EQ(report.metric("spearman:year.d"), -1);
  EXPECT_NEAR(report.metric("spearman_mean"), 0, 1e-12);
  EXPECT_NEAR(report.metric("spearman_wmean"), (3 - 2) / 5.0, 1e-12);
  const auto task = load_task(options);
  EXPECT_EQ(task->metric_names().size(), report.metrics.size());
  EXPECT_THAT(task->warnings(),
              ::testing::ElementsAre(HasSubstr("year.b: 1 scored pairs and so no correlation"),
                                     HasSubstr("year.c: its 2 gold scores are all 3")));
}

TEST(StsTask, DataThatDoesNotFitIsRefused) {
  const TestFiles files;
  EXPECT_THAT(error_loading(pair_options("sts", files.write("t.tsv", pairs_of({{"1", "1"}})))),
              HasSubstr("at least two scored pairs"));
  const auto equal = files.write("t.tsv", pairs_of({{"1", "3"}, {"2", "3"}}));
  EXPECT_THAT(error_loading(pair_options("sts", equal)), HasSubstr("all 2 are 3"));
  auto options = pair_options("sts", equal);
  options.dev = equal;
  EXPECT_THAT(error_loading(options), AllOf(HasSubstr("the task sts does not take: dev;"),
                                            HasSubstr("(dev: pairs, ranking)")));
  EXPECT_THAT(error_loading(pair_options("sts", "")), HasSubstr("needs 'data'"));
  EXPECT_THAT(error_loading(pair_options("stsb", equal)),
              HasSubstr("sts, pairs, ranking, classification, geometry"));
}

TEST(StsTask, AScoreThatIsNotFiniteIsAFailure) {
  const TestFiles files;
  NumberScorer scorer;
  const auto options =
      pair_options("sts", files.write("t.tsv", pairs_of({{"nan", "1"}, {"2", "4"}})));
  EXPECT_THAT(error_of([&] { evaluate(options, scorer); }), HasSubstr("gave the score nan"));
}

// A text's vector is (first number, second number).
class PlaneScorer : public NumberScorer {
 public:
  Matrix<float> embed(const Texts& texts) override {
    Matrix<float> vectors(static_cast<int64_t>(texts.size()), 2);
    for (size_t i = 0; i < texts.size(); ++i) {
      float* row = vectors.row(static_cast<int64_t>(i));
      EXPECT_EQ(std::sscanf(texts[i].c_str(), "%f %f", &row[0], &row[1]), 2);
    }
    return vectors;
  }
};

TEST(GeometryTask, TellsHowVectorsLie) {
  const TestFiles files;
  const std::string table = "sentence1\tsentence2\tscore\n1 0\t0 1\t1\n1 0\t-1 0\t0\n";
  EvaluationOptions options = pair_options("geometry", files.write("t.tsv", table));
  PlaneScorer scorer;
  const Report report = evaluate(options, scorer);
  EXPECT_EQ(report.task, "geometry");
  EXPECT_DOUBLE_EQ(report.metric("alignment"), 2);  // of the pair above 0.5
  EXPECT_NEAR(report.metric("uniformity"), std::log((2 * std::exp(-4.0) + std::exp(-8.0)) / 3),
              1e-12);
  EXPECT_NEAR(report.metric("mean_cosine"), -1.0 / 3, 1e-12);
  EXPECT_NEAR(report.metric("pc@10"), 1, 1e-6);
  EXPECT_THAT(report.notes, ElementsAre("alignment of 1 positive pairs, the rest of 3 texts"));
  EXPECT_EQ(load_task(options)->metric_names().size(), report.metrics.size());
  NumberScorer without;
  EXPECT_THAT(error_of([&] { evaluate(options, without); }), HasSubstr("without vectors"));
  options.positive_above = 2;
  EXPECT_THAT(error_loading(options), HasSubstr("above positive_above 2"));
}

TEST(PairTask, ThresholdIsChosenOnDevAndAppliedToTest) {
  const TestFiles files;
  NumberScorer scorer;
  // On the test set itself a threshold of 2.5 would be perfect.
  auto options = pair_options(
      "pairs", files.write("test.tsv", pairs_of({{"1", "0"}, {"2", "0"}, {"3", "1"}, {"4", "1"}})));
  options.dev = files.write("dev.tsv", pairs_of({{"0", "0"}, {"3", "0"}, {"4", "1"}}));
  const Report report = evaluate(options, scorer);
  EXPECT_DOUBLE_EQ(report.metric("threshold"), 3.5);
  EXPECT_DOUBLE_EQ(report.metric("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(report.metric("f1"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.metric("ap"), 1);
  EXPECT_THAT(report.notes, IsEmpty());

  options.dev = "";
  const Report oracle = evaluate(options, scorer);
  EXPECT_DOUBLE_EQ(oracle.metric("accuracy"), 1);
  EXPECT_DOUBLE_EQ(oracle.metric("mcc"), 1);
  EXPECT_DOUBLE_EQ(oracle.metric("threshold"), 2.5);
  EXPECT_THAT(oracle.notes, ElementsAre(HasSubstr("threshold: oracle")));
}

TEST(PairTask, TheCorrelationIsThatAtTheThresholdOfF1) {
  const TestFiles files;
  NumberScorer scorer;
  // Accuracy is best where all are negative, which correlates with nothing.
  const Report report = evaluate(
      pair_options(
          "pairs",
          files.write("t.tsv", pairs_of({{"4", "0"}, {"3", "1"}, {"2", "0"}, {"1", "0"}}))),
      scorer);
  EXPECT_DOUBLE_EQ(report.metric("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(report.metric("f1_threshold"), 2.5);
  EXPECT_DOUBLE_EQ(report.metric("mcc"), 1 / std::sqrt(3.0));
}

TEST(PairTask, DataThatDoesNotFitIsRefused) {
  const TestFiles files;
  const auto graded = files.write("t.tsv", pairs_of({{"1", "1"}, {"1", "2.5"}}));
  EXPECT_THAT(
      error_loading(pair_options("pairs", graded)),
      AllOf(HasSubstr("needs gold scores 0 and 1, found 2.5 in row 2"), HasSubstr("task sts")));
  const auto positive = files.write("t.tsv", pairs_of({{"1", "1"}, {"1", "1"}}));
  EXPECT_THAT(error_loading(pair_options("pairs", positive)), HasSubstr("2 positive of 2"));
}

EvaluationOptions ranking_options(const TestFiles& files) {
  EvaluationOptions options;
  options.task = "ranking";
  options.metrics = {"map", "mrr", "p@1", "recall@1"};
  options.ranking.queries = files.write("q.tsv", "id\ttext\nq1\ta\nq2\tb\nq3\tc\nq4\td\n");
  options.ranking.corpus = files.write("c.tsv", "id\ttext\nd1\t5\nd2\t7\nd3\t7\nd4\t1\n");
  options.ranking.qrels =
      files.write("r.tsv", "q1 0 d2 1\nq1 0 d4 0\nq2 0 d1 2\nq2 0 d4 1\nq3 0 d1 0\n");
  return options;
}

TEST(RankingTask, TiesFollowTheRuleAskedFor) {
  const TestFiles files;
  NumberScorer scorer;
  EvaluationOptions options = ranking_options(files);
  // d2 and d3 tie at the top: q1 finds d2 at rank 2 under trec_eval, at rank 1 otherwise.
  const std::map<std::string, double> first = {{"trec_eval", 0.5}, {"input", 1}, {"id", 1}};
  for (const auto& c : first) {
    options.ties = c.first;
    const Report report = evaluate(options, scorer);
    EXPECT_EQ(report.examples, 2);
    EXPECT_DOUBLE_EQ(report.metric("mrr"), (c.second + 1.0 / 3) / 2) << c.first;
    EXPECT_THAT(report.notes, ElementsAre(HasSubstr("1 judged queries without a relevant")));
  }
  // Also at the cut.
  options.metrics = {"recall@1"};
  options.depth = 1;
  for (const auto& c : first) {
    options.ties = c.first;
    EXPECT_DOUBLE_EQ(evaluate(options, scorer).metric("recall@1"), c.second == 1 ? 0.5 : 0)
        << c.first;
  }
}

TEST(RankingTask, JudgedCandidatesRankNothingElse) {
  const TestFiles files;
  NumberScorer scorer;
  EvaluationOptions options = ranking_options(files);
  options.candidates = "judged";
  const Report report = evaluate(options, scorer, files.path("run.trec"));
  EXPECT_DOUBLE_EQ(report.metric("map"), 1);
  EXPECT_EQ(read_file(files.path("run.trec")),
            "q1 Q0 d2 1 7 number_reader\nq1 Q0 d4 2 1 number_reader\n"
            "q2 Q0 d1 1 5 number_reader\nq2 Q0 d4 2 1 number_reader\n");
}

TEST(RankingTask, TheQuerysOwnDocumentIsLeftOutWhereAskedFor) {
  const TestFiles files;
  NumberScorer scorer;
  EvaluationOptions options = ranking_options(files);
  options.ranking.queries = files.write("own.tsv", "id\ttext\nd2\t0\nq9\t0\n");
  options.ranking.qrels = files.write("own.qrels", "d2 0 d4 1\nd2 0 d2 1\nq9 0 d4 1\n");
  options.depth = 3;
  EXPECT_THAT(load_task(options)->warnings(),
              ElementsAre(HasSubstr("1 of 2 queries have the id of a document")));
  const auto ranked = [&](const std::string& query) {
    evaluate(options, scorer, files.path("own.trec"));
    std::vector<std::string> documents;
    for (const RunQuery& of_run : read_run(files.path("own.trec"))) {
      if (of_run.query != query) continue;
      documents = of_run.documents;
    }
    return documents;
  };
  const std::vector<std::string> all = ranked("d2"), others = ranked("q9");
  EXPECT_THAT(all, Contains("d2"));
  options.exclude_self = true;
  EXPECT_THAT(load_task(options)->warnings(), IsEmpty());
  EXPECT_THAT(ranked("d2"), AllOf(SizeIs(3), Not(Contains("d2"))));  // as deep as before
  EXPECT_EQ(ranked("q9"), others);
  const Report report = evaluate(options, scorer);
  EXPECT_THAT(report.notes.back(), HasSubstr("the query's id, which 1 of 2 queries have"));
  options.candidates = "judged";
  EXPECT_THAT(ranked("d2"), ElementsAre("d4"));
}

TEST(RankingTask, ItsRunScoredAloneGivesTheSameMetrics) {
  const TestFiles files;
  NumberScorer scorer;
  EvaluationOptions options = ranking_options(files);
  for (const char* ties : {"trec_eval", "id"}) {
    options.ties = ties;
    const Report report = evaluate(options, scorer, files.path("run.trec"));
    const Report again =
        evaluate_run(files.path("run.trec"), options.ranking.qrels,
                     parse_ranking_metrics(options.metrics), parse_tie_break(ties));
    EXPECT_EQ(again.metrics, report.metrics);
    EXPECT_EQ(again.examples, report.examples);
    EXPECT_EQ(again.notes, report.notes);
  }
}

TEST(RankingTask, AJudgedQueryThatARunLacksCountsAsZero) {
  const TestFiles files;
  const auto run = files.write("run", "q1 Q0 d 1 1 t\nunjudged Q0 d 1 1 t\n");
  const auto qrels = files.write("qrels", "q1 0 d 1\nq2 0 d 1\n");
  const Report report = evaluate_run(run, qrels, parse_ranking_metrics("map"), TieBreak::kTrecEval);
  EXPECT_DOUBLE_EQ(report.metric("map"), 0.5);
  EXPECT_EQ(report.examples, 2);
  EXPECT_THAT(report.notes, ElementsAre("1 queries without results counted as 0"));
}

TEST(RankingTask, ARunHasATableOfTheQueriesThatCount) {
  const TestFiles files;
  const auto run = files.write("run", "q1 Q0 x 1 2 t\nq1 Q0 d 2 1 t\nq3 Q0 d 1 1 t\n");
  const auto qrels = files.write("qrels", "q0 0 d 0\nq1 0 d 1\nq2 0 d 1\nq3 0 d 1\n");
  Predictions table;
  evaluate_run(run, qrels, parse_ranking_metrics("map"), TieBreak::kTrecEval, Gain::kLinear,
               &table);
  EXPECT_THAT(table.left, ElementsAre("q1", "q2", "q3"));
  EXPECT_THAT(table.values, ElementsAre(ElementsAre(0.5, 0, 1)));
  EXPECT_THAT(table.first_relevant, ElementsAre(2, 0, 1));
  EXPECT_THAT(table.right, ElementsAre("", "", ""));
}

TEST(RankingTask, DataThatDoesNotFitIsRefused) {
  const TestFiles files;
  EvaluationOptions options = ranking_options(files);
  options.depth = 5;
  options.metrics = {"recall@100"};
  EXPECT_THAT(error_loading(options), HasSubstr("set depth to at least 100"));
  options = ranking_options(files);
  options.ranking.qrels = files.write("none.tsv", "q1 0 d1 0\n");
  EXPECT_THAT(error_loading(options), HasSubstr("with a relevant document"));
  options.data = "x.tsv";
  EXPECT_THAT(error_loading(options), HasSubstr("give one of them"));
  options.data = "";
  options.ranking.qrels = "";
  EXPECT_THAT(error_loading(options), HasSubstr("'qrels' is missing"));
  options.metrics = {"ndcg@10"};
  options.gain = "square";
  EXPECT_THAT(error_loading(options), HasSubstr("linear or exponential"));
  options.gain = "exponential";
  options.candidates = "all";
  EXPECT_THAT(error_loading(options), HasSubstr("corpus or judged"));
}

TEST(Task, WarningsTellOfBrokenBytesAndUnknownIds) {
  const TestFiles files;
  const auto task = load_task(pair_options(
      "sts", files.write("t.tsv", pairs_of({{"1", "1"}, {"2", "2"}}) + "caf\xE9\t1\t3\n")));
  EXPECT_THAT(task->warnings(), ElementsAre(HasSubstr("not UTF-8")));
  EvaluationOptions options = ranking_options(files);
  options.ranking.qrels = files.write("r2.tsv", "q1 0 d2 1\nq1 0 d9 1\n");
  options.ranking.allow_unknown = true;
  NumberScorer scorer;
  EXPECT_THAT(load_task(options)->warnings(), ElementsAre(HasSubstr("1 judged documents")));
  EXPECT_DOUBLE_EQ(evaluate(options, scorer).metric("map"), 0.25);
}

TEST(Task, NotesTellWhatWasLeftOut) {
  const TestFiles files;
  EvaluationOptions options = pair_options(
      "pairs", files.write("t.tsv", pairs_of({{"1", "0"}, {"2", "1"}, {"3", "1"}, {"4", "7"}})));
  options.dev = files.write("d.tsv", pairs_of({{"1", "0"}, {"2", "1"}, {"3", "8"}, {"4", "9"}}));
  options.columns.filter = {"score < 2"};
  EXPECT_THAT(load_task(options)->notes(),
              ElementsAre(HasSubstr("t.tsv: the filter left out 1 of 4 rows"),
                          HasSubstr("d.tsv: the filter left out 2 of 4 rows")));
  options.task = "sts";
  options.dev = "";
  EXPECT_THAT(load_task(options)->notes(), ElementsAre(HasSubstr("t.tsv")));
}

TEST(Task, TheThresholdIsNotChosenOnRowsOfAFoldTested) {
  const TestFiles files;
  EvaluationOptions options = pair_options(
      "pairs", files.write("t.tsv", pairs_of({{"1", "0"}, {"2", "1"}, {"3", "1"}, {"4", "0"}})));
  options.dev = options.data;
  EXPECT_THAT(error_loading(options), HasSubstr("dev and data both read"));
  options.columns.limit = 2;
  options.dev_skip = 1;
  EXPECT_THAT(error_loading(options), HasSubstr("dev and data both read"));
  options.dev_skip = 2;
  load_task(options);  // without folds limit and dev_skip may cut one file in two
  options.ranking.folds = {2, 0, "test", 1};
  EXPECT_THAT(error_loading(options),
              AllOf(HasSubstr("dev and data both read"), HasSubstr("t.tsv")));
}

TEST(Task, ARankingOfPairsTakesNoOptionsOfFiles) {
  const TestFiles files;
  EvaluationOptions options;
  options.task = "ranking";
  options.data = files.write("t.tsv", "anchor\tpositive\na\tb\nc\td\n");
  options.ranking.skip_queries = 1;
  EXPECT_THAT(error_loading(options), HasSubstr("does not take: skip_queries"));
  options.ranking.skip_queries = 0;
  options.columns.limit = 1;
  EXPECT_THAT(load_task(options)->notes(), ::testing::Contains(HasSubstr("1 queries and 1 doc")));
}

TEST(Task, FiguresOfQueriesWithADocumentSeenAreToldApart) {
  const TestFiles files;
  EvaluationOptions options;
  options.task = "ranking";
  options.metrics = {"mrr"};
  options.data =
      files.write("t.tsv", "anchor\tpositive\n1\tone two three four\n2\tfive six seven eight\n");
  options.seen = {files.write("seen.txt", "One, two, three: four\n")};
  NumberScorer scorer;
  EXPECT_THAT(
      evaluate(options, scorer).notes,
      ::testing::Contains(::testing::AllOf(HasSubstr("on 1 queries whose document was in training"),
                                           HasSubstr("on the other 1"))));
  options.seen = {};
  EXPECT_THAT(evaluate(options, scorer).notes, ::testing::IsEmpty());
}

TEST(Task, ItsMetricsAreKnownBeforeItIsEvaluated) {
  const TestFiles files;
  NumberScorer scorer;
  const std::string data = files.write("t.tsv", pairs_of({{"1", "0"}, {"2", "1"}, {"3", "1"}}));
  for (const char* name : {"sts", "pairs", "ranking"}) {
    EvaluationOptions options = pair_options(name, data);
    if (options.task == "ranking") options.columns.score = "";
    const std::unique_ptr<Task> task = load_task(options);
    std::vector<std::string> reported;
    for (const auto& metric : task->evaluate(scorer).metrics) reported.push_back(metric.first);
    EXPECT_EQ(task->metric_names(), reported) << name;
  }
}

TEST(Task, OneColumnOnBothSidesIsRefused) {
  const TestFiles files;
  const std::string data = files.write("t.tsv", pairs_of({{"1", "0"}, {"2", "1"}, {"3", "1"}}));
  for (const char* name : {"sts", "pairs", "ranking"}) {
    EvaluationOptions options = pair_options(name, data);
    options.columns.right = "sentence1";
    EXPECT_THAT(error_loading(options), HasSubstr("left and right are both the column 'sentence1'"))
        << name;
  }
}

TEST(Task, OptionsOfAnotherTaskAreRefused) {
  const TestFiles files;
  EvaluationOptions ranking = ranking_options(files);
  ranking.columns.limit = 5;
  EXPECT_THAT(error_loading(ranking), HasSubstr("does not take: limit"));
  EvaluationOptions pairs =
      pair_options("sts", files.write("t.tsv", pairs_of({{"1", "1"}, {"2", "2"}})));
  pairs.ranking.skip_queries = 1;
  pairs.ranking.split = "dev";
  EXPECT_THAT(error_loading(pairs), HasSubstr("the task sts does not take: split, skip_queries"));
}

TEST(EvaluationOptions, AreReadByName) {
  EvaluationOptions options;
  read_options(parse_config("{task: ranking, queries: q.tsv, corpus: c.tsv, qrels: r.tsv, "
                            "metrics: [map, p@5], ties: id, candidates: judged, depth: 50}",
                            "r.yaml"),
               options);
  EXPECT_EQ(std::filesystem::absolute(options.ranking.queries), std::filesystem::absolute("q.tsv"));
  EXPECT_THAT(options.metrics, ElementsAre("map", "p@5"));
  EXPECT_EQ(options.depth, 50);
  EvaluationOptions again;
  read_options(parse_config(options_to_json(options), "run.json"), again);
  EXPECT_EQ(options_to_json(again), options_to_json(options));
  EXPECT_THROW(read_options(parse_config("{ties: random}", "r.yaml"), options), Error);
}

}  // namespace
}  // namespace simile
