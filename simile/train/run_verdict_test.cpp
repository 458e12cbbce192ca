// SPDX-License-Identifier: Apache-2.0
// The verdict at the end of runs: the start against the trained weights.
#include "simile/train/run_verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "simile/core/config.h"
#include "simile/eval/predictions.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Interrupter;
using testing::Listener;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class RunVerdictTest : public testing::RunTest {
 protected:
  ConfigNode recipe(const std::vector<std::string>& overrides) const {
    write("recipe.yaml", R"(
name: small
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  - name: first
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 8}
    epochs: 3
    learning_rate: 3e-3
    selection: {metric: dev.spearman}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: []
)");
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  TrainResult run(const std::vector<std::string>& overrides, EventSink& events = silent_events(),
                  const std::string& folder = "run") const {
    return train(recipe(overrides), path(folder), false, true, events);
  }

  nlohmann::json verdict_in(const std::string& folder) const {
    return nlohmann::json::parse(bytes(folder + "/results.json"))["verdict"];
  }

  static std::string rate(const char* value) {
    return std::string("stages.0.learning_rate=") + value;
  }
};

// The ranks of dev are as good before training: equal texts have the highest cosine.
constexpr const char* kByPearson = "stages.0.selection.metric=dev.pearson";
constexpr const char* kLine =
    "verdict: (helped|undecided); dev pearson -?[0-9.]+ -> [0-9.]+ \\([+][0-9.]+, 95 % interval "
    "[+-][0-9.]+ to [+][0-9.]+, 30 pairs\\), which also selected the weights";

TEST_F(RunVerdictTest, TellsStartTrainedAndTheInterval) {
  Listener events;
  const TrainResult result = run({kByPearson, "baselines=[bm25, untrained]"}, events);
  ASSERT_TRUE(result.verdict);
  EXPECT_THAT(result.verdict->to_line(), MatchesRegex(kLine));
  ASSERT_EQ(result.reports.size(), 3u);
  const Gain& gain = result.verdict->gains.at(0);
  EXPECT_EQ(gain.trained[0], result.reports[0].metric("pearson"));
  EXPECT_EQ(gain.start[0], result.reports[2].metric("pearson"));
  EXPECT_EQ(result.reports[2].model, "untrained");
  EXPECT_LT(gain.interval->low, gain.difference());
  EXPECT_GT(gain.interval->high, gain.difference());
  EXPECT_EQ(result.verdict->start_kept, 0);
  EXPECT_THAT(events.warned, Not(Contains(HasSubstr("NOTHING WAS GAINED"))));
  EXPECT_EQ(verdict_in("run"), nlohmann::json::parse(result.verdict->to_json()));
  // Without baselines it is the same.
  EXPECT_EQ(run({kByPearson}).verdict->to_json(), result.verdict->to_json());
}

TEST_F(RunVerdictTest, AResumedRunSaysTheSame) {
  const std::string whole = run({}, silent_events(), "whole").verdict->to_json();
  for (const int reports : {1, 9, 24}) {
    Interrupter interrupter(reports);
    EXPECT_THROW(run({}, interrupter, "cut"), Error);
    const TrainResult resumed = train(recipe({}), path("cut"), true, false, silent_events());
    EXPECT_EQ(resumed.verdict->to_json(), whole);
    EXPECT_EQ(verdict_in("cut"), verdict_in("whole"));
  }
  // Also of a run that was done already.
  EXPECT_EQ(train(recipe({}), path("whole"), true, false, silent_events()).verdict->to_json(),
            whole);
}

TEST_F(RunVerdictTest, AStartThatIsKeptIsSaidAloudWithItsCauses) {
  run({"stages.0.epochs=12"}, silent_events(), "good");
  const std::vector<std::string> again = {"model=" + path("good/model"), "architecture={}",
                                          "tokenizer=", rate("3")};
  Listener events;
  const TrainResult result = run(again, events);
  ASSERT_EQ(result.verdict->start_kept, 1);
  EXPECT_EQ(bytes("run/model/model.safetensors"), bytes("good/model/model.safetensors"));
  EXPECT_THAT(result.verdict->to_line(), StartsWith("verdict: nothing gained, the start was kept"));
  ASSERT_THAT(events.warned, Contains(StartsWith("NOTHING WAS GAINED")));
  EXPECT_THAT(events.warned.back(), AllOf(HasSubstr("those before the first step"),
                                          HasSubstr("(step "), HasSubstr("Likely causes:\n  - ")));
  const nlohmann::json verdict = verdict_in("run");
  EXPECT_EQ(verdict["start_kept"], 1);
  EXPECT_THAT(verdict["stages_that_kept_their_start"], ElementsAre("first"));
  EXPECT_FALSE(verdict["causes"].empty());
  // Unless the best of those after its first step are asked for, of which it is none.
  std::vector<std::string> trained = again;
  trained.emplace_back("stages.0.selection.keep=best_trained");
  const TrainResult other = run(trained, silent_events(), "other");
  EXPECT_EQ(other.verdict->start_kept, 0);
  EXPECT_LT(other.selected_value, result.selected_value);
  EXPECT_NE(bytes("other/model/model.safetensors"), bytes("good/model/model.safetensors"));
  // The first step of a warm-up is taken with a rate of 0.
  trained.emplace_back("stages.0.selection.every_steps=1");
  const TrainResult often = run(trained, silent_events(), "often");
  EXPECT_LT(often.reports[0].metric("pearson"), result.reports[0].metric("pearson") - 0.1);
}

TEST_F(RunVerdictTest, TrainedWeightsAreKeptAlikeAfterAResume) {
  const std::vector<std::string> trained = {"stages.0.selection.keep=best_trained",
                                            "stages.0.selection.every_steps=4"};
  const TrainResult whole = run(trained, silent_events(), "whole");
  for (const int reports : {1, 9, 24}) {
    Interrupter interrupter(reports);
    EXPECT_THROW(run(trained, interrupter, "cut"), Error);
    const TrainResult cut = train(recipe(trained), path("cut"), true, false, silent_events());
    EXPECT_EQ(cut.selected_value, whole.selected_value);
    EXPECT_EQ(bytes("cut/model/model.safetensors"), bytes("whole/model/model.safetensors"));
  }
}

TEST_F(RunVerdictTest, ARateThatMovesNothingIsCalledTooLow) {
  Listener events;
  EXPECT_EQ(run({rate("1e-12")}, events).verdict->start_kept, 1);
  EXPECT_THAT(events.warned.back(), HasSubstr("the learning rate 1e-12 is too low"));
}

TEST_F(RunVerdictTest, AStageThatKeptItsStartIsNotTheRun) {
  const std::string second =
      "stages=[{name: first, objectives: {data: {path: " + path("train.tsv") +
      ", score_scale: 5}, loss: mse, batch_size: 8}, epochs: 3, learning_rate: 3e-3, selection: "
      "{metric: dev.pearson}}, {name: second, objectives: {data: {path: " +
      path("train.tsv") +
      ", score_scale: 5}, loss: mse, batch_size: 8}, epochs: 1, learning_rate: 1e-12, selection: "
      "{metric: dev.pearson}}]";
  Listener events;
  const TrainResult result = run({second}, events);
  EXPECT_EQ(result.verdict->start_kept, 0);
  EXPECT_THAT(result.verdict->stages_that_kept_theirs, ElementsAre("second"));
  EXPECT_THAT(result.verdict->to_line(), MatchesRegex(kLine));
  EXPECT_THAT(events.warned.back(), AllOf(HasSubstr("the stage 'second' gained nothing"),
                                          HasSubstr("stage 'second': the learning rate 1e-12")));
  // From the start again, whatever the first stage gained.
  Listener anew;
  EXPECT_EQ(run({second, "stages.1.from=start"}, anew).verdict->start_kept, 1);
  EXPECT_THAT(anew.warned.back(), StartsWith("NOTHING WAS GAINED"));
}

// Fifty queries, each with a value that is its number's share above `least`.
Scores ranked(double least) {
  Predictions predictions;
  predictions.kind = PredictionKind::kQueries;
  predictions.metrics = {"map"};
  predictions.values.resize(1);
  for (int i = 0; i < 50; ++i) {
    predictions.left.push_back(std::to_string(i));
    predictions.right.push_back("query");
    predictions.values[0].push_back(least + i % 10 * 0.01);
  }
  Report report = report_predictions(predictions);
  report.name = "dev";
  return {{report}, {predictions}};
}

TEST_F(RunVerdictTest, LastWeightsThatAreWorseAreWarnedOf) {
  TrainOptions options;
  options.stages.resize(1);
  options.stages[0].selection.metric = {"dev.map"};
  options.stages[0].selection.keep = "last";
  write("metrics.jsonl",
        R"({"stage":"train","step":0,"epoch":0.0,"evaluation":"dev","metrics":{"map":0.5}}
{"stage":"train","step":1,"epoch":1.0,"loss":2.0}
{"stage":"train","step":1,"epoch":1.0,"evaluation":"dev","metrics":{"map":0.6}}
{"stage":"train","step":2,"epoch":1.0,"evaluation":"dev","metrics":{"map":0.3}}
)");
  Listener events;
  const std::string log = path("metrics.jsonl");
  const auto judge = [&](double start, double trained) {
    RunScores scores;
    scores.start = ranked(start);
    scores.trained = ranked(trained);
    return judge_run(options, log, {{"dev.map"}, true}, scores, events);
  };
  const Verdict verdict = judge(0.5, 0.3);
  EXPECT_EQ(verdict.start_kept, 0);
  EXPECT_NEAR(verdict.gains.at(0).interval->high, -0.2, 1e-9);
  EXPECT_THAT(events.warned,
              ElementsAre(AllOf(StartsWith("the trained model is worse than its start on dev map"),
                                HasSubstr("dev.map was best at step 1 of 2 (60.00)"))));
  EXPECT_EQ(verdict.causes.size(), 1u);
  // No warning if the trained weights are better, or were kept by their metric.
  judge(0.3, 0.5);
  options.stages[0].selection.keep = "best";
  judge(0.3, 0.4);
  EXPECT_EQ(events.warned.size(), 1u);
  // With best_trained the start is never kept, however good it is.
  options.stages[0].selection.keep = "best_trained";
  EXPECT_EQ(judge(0.5, 0.3).start_kept, 0);
  EXPECT_EQ(events.warned.size(), 2u);
}

TEST_F(RunVerdictTest, ALossIsThatOfItsStageBesideAMetric) {
  const TrainResult result = run({"stages.0.selection.metric=loss.all",
                                  "stages.0.objectives={data: {path: " + path("train.tsv") +
                                      ", score_scale: 5}, dev: {path: " + path("dev.tsv") +
                                      "}, loss: mse, batch_size: 8}"});
  ASSERT_EQ(result.verdict->gains.size(), 2u);
  const Gain& loss = result.verdict->gains[1];
  EXPECT_EQ(loss.title, "loss.all");
  EXPECT_LT(loss.trained[0], loss.start[0]);
  EXPECT_EQ(loss.trained[0], result.selected_value);
  EXPECT_THAT(result.verdict->to_line(), MatchesRegex("verdict: .*; dev spearman .*, 30 pairs\\)"));
  EXPECT_THAT(result.verdict->details(),
              ElementsAre(MatchesRegex(
                  "loss.all [0-9.]+ -> [0-9.]+ \\(-[0-9.]+, lower is better; no interval: .*\\)")));
}

TEST_F(RunVerdictTest, WithoutSelectionOrEvaluationsItSaysWhatThereIs) {
  EXPECT_THAT(run({"stages.0.selection.metric=[]"}).verdict->to_line(),
              MatchesRegex("verdict: [a-z]+; dev spearman .* 30 pairs\\)"));
  EXPECT_THAT(run({"stages.0.selection.metric=[dev.spearman, dev.pearson]"}).verdict->to_line(),
              AllOf(HasSubstr("; mean of dev spearman, dev pearson "), HasSubstr(", 30 pairs)")));
  const std::vector<std::string> none = {"stages.0.selection.metric=[]", "evaluations=[]"};
  EXPECT_THAT(run(none).verdict->to_line(), StartsWith("verdict: none"));
  std::vector<std::string> tests = none;
  tests.push_back("tests={name: test, task: sts, data: " + path("dev.tsv") + "}");
  const TrainResult result = run(tests);
  EXPECT_THAT(result.verdict->to_line(), HasSubstr("; test spearman "));
  EXPECT_EQ(result.reports.size(), 1u);  // the start is no baseline that nobody asked for
}

// Each document begins with a word that the model does not know, and the first half of them are
// trained. A question tested has its document's first word, so that BM25 finds it, and the word
// that was trained for it.
class RankingVerdictTest : public RunVerdictTest {
 protected:
  RankingVerdictTest() {
    std::string pairs = "question\tanswer\n", queries = "id\ttext\n", corpus = queries;
    std::string qrels = "query_id\tdoc_id\trelevance\n";
    for (int i = 0; i < 40; ++i) {
      const std::string document =
          fmt::format("x{} w{} w{} w{} w{}", i, (i + 7) % 40, (3 * i + 1) % 40, (7 * i + 2) % 40,
                      (9 * i + 5) % 40);
      if (i < 20) pairs += fmt::format("w{}\t{}\n", i, document);
      queries += fmt::format("q{0}\tx{0} w{0}\n", i);
      corpus += fmt::format("d{}\t{}\n", i, document);
      qrels += fmt::format("q{0}\td{0}\t1\n", i);
    }
    write("pairs.tsv", pairs);
    write("queries.tsv", queries);
    write("corpus.tsv", corpus);
    write("qrels.tsv", qrels);
  }
};

TEST_F(RankingVerdictTest, IsSetBesideBm25AndDocumentsThatTrainingSaw) {
  const TrainResult result =
      run({"stages.0.objectives=[{data: {path: " + path("pairs.tsv") +
               ", left: question, right: answer, score: \"\"}, loss: mnrl, batch_size: 10}]",
           "stages.0.selection.metric=[]", "stages.0.epochs=100", rate("1e-2"), "evaluations=[]",
           "tests={name: test, task: ranking, queries: " + path("queries.tsv") + ", corpus: " +
               path("corpus.tsv") + ", qrels: " + path("qrels.tsv") + ", metrics: [mrr]}"});
  const Verdict& verdict = *result.verdict;
  EXPECT_THAT(verdict.to_line(),
              MatchesRegex("verdict: helped, but only on documents that training saw \\(others "
                           "(undecided|hurt), [+-][0-9.]+\\), still below BM25 \\([0-9.]+ against "
                           "95.00\\): do not use; test mrr [0-9.]+ -> [0-9.]+ \\([+][0-9.]+, 95 % "
                           "interval [+][0-9.]+ to [+][0-9.]+, 40 queries\\)"));
  EXPECT_THAT(verdict.details(),
              ElementsAre(HasSubstr("training saw: test mrr"), HasSubstr("did not see: test mrr"),
                          StartsWith("with BM25, start and trained model: test mrr"),
                          StartsWith("from BM25 to the trained model: test mrr 95.00 -> ")));
  EXPECT_EQ(verdict.find("seen")->examples, 20);
  EXPECT_GT(verdict.find("seen")->difference(), 0.2);
  EXPECT_EQ(result.reports.size(), 1u);  // none that nobody asked for
  // Files have it query by query.
  for (const auto& [folder, value] :
       {std::make_pair("", verdict.gains[0].trained[0]),
        std::make_pair("start/", verdict.gains[0].start[0]), std::make_pair("bm25/", 0.95)}) {
    const Predictions table =
        read_predictions(path(std::string("run/predictions/") + folder + "test.queries.tsv"));
    EXPECT_NEAR(report_predictions(table).metric("mrr"), value, 1e-12);
    EXPECT_EQ(std::count(table.seen.begin(), table.seen.end(), 1), 20);
  }
}

TEST_F(RunVerdictTest, ProgressAndEvaluationsShowTheLoss) {
  Listener events;
  run({}, events);
  EXPECT_THAT(events.told, Contains(MatchesRegex("first step 8: dev.spearman .*, loss [0-9.]+")));
  EXPECT_THAT(events.told, Contains(MatchesRegex("first step 0: dev.spearman [^,]*")));
  EXPECT_THAT(events.values, Contains(::testing::Pair("loss", ::testing::Gt(0.0))));
}

Matrix<float> rows_of(std::vector<float> values) {
  Matrix<float> rows(static_cast<int64_t>(values.size()) / 2, 2);
  rows.values = std::move(values);
  return rows;
}

TEST(Collapse, VectorsAllAlikeAreToldOthersNot) {
  EXPECT_THAT(describe_collapse(rows_of({1, 0, 1, 0.01F, 2, 0.01F})),
              ::testing::HasSubstr("THE MODEL HAS COLLAPSED: 3 different texts"));
  EXPECT_EQ(describe_collapse(rows_of({1, 0, 0, 1})), "");
  EXPECT_EQ(describe_collapse(Matrix<float>()), "");
}

TEST(Collapse, ALossAtItsMarginIsToldWhereDistancesAreNearZero) {
  const Matrix<float> alike = rows_of({1, 0, 1, 0.01F, 1, 0.02F}), apart = rows_of({1, 0, 0, 1});
  TripletOptions options;
  options.mining = "batch_hard";
  EXPECT_THAT(describe_margin("train", options, 0.499, alike),
              ::testing::AllOf(::testing::HasSubstr("stage 'train': THE TRIPLETS HAVE COLLAPSED"),
                               ::testing::HasSubstr("(0.4990 of 0.5)"),
                               ::testing::HasSubstr("take batch_semi_hard or batch_all, a lower")));
  EXPECT_EQ(describe_margin("train", options, 0.499, apart), "");
  EXPECT_EQ(describe_margin("train", options, 0.3, alike), "");
  options.distance = "cosine";
  options.mining = "batch_all";
  EXPECT_THAT(describe_margin("train", options, 0.5, rows_of({1, 0, 5, 0.01F})),
              ::testing::HasSubstr("Take a lower learning_rate"));
  EXPECT_EQ(describe_margin("train", options, 0.5, apart), "");
  // Short vectors are near each other, whatever their directions.
  options.distance = "euclidean";
  EXPECT_NE(describe_margin("train", options, 0.5, rows_of({0.001F, 0, 0, 0.001F})), "");
  EXPECT_EQ(describe_margin("train", options, 0.5, Matrix<float>()), "");
}

}  // namespace
}  // namespace simile
