// SPDX-License-Identifier: Apache-2.0
// Whole runs on a small made-up task: what a user may rely on of `simile train`.
#include "simile/train/trainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/predictions.h"
#include "simile/eval/task.h"
#include "simile/index/search_settings.h"
#include "simile/model/safetensors.h"
#include "simile/train/detail/run_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Interrupter;
using testing::Killer;
using ::testing::Not;

class TrainerTest : public testing::RunTest {
 protected:
  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  - name: first
    objectives:
      data: {path: train.tsv, score_scale: 5}
      loss: {name: combo, mu: 0.5, temperature: {value: 0.1, trainable: true}}
      order: {name: neighbours, group_size: 4, neighbours: 20}
      batch_size: 8
    epochs: 2
    learning_rate: 1e-3
    selection: {metric: dev.spearman}
  - name: second
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
    epochs: 2
    learning_rate: 1e-3
    selection: {metric: dev.spearman, every_steps: 3}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: [bm25, untrained]
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  // Stages of several objectives: 8 + 4 batches an epoch in rounds, then 4 + 8 + 4 mixed.
  ConfigNode several_objectives(const std::vector<std::string>& overrides = {}) const {
    ConfigNode node = recipe();
    apply_override(node, R"(stages=[
      {name: first, epochs: 2, learning_rate: 1e-3, selection: {metric: dev.spearman}, objectives: [
        {name: ranked, data: {path: )" +
                             path("train.tsv") + R"(, score_scale: 5}, batch_size: 8,
         loss: {name: bsc, temperature: {value: 0.1, trainable: true}},
         order: {name: neighbours, group_size: 4, neighbours: 20}},
        {name: same, data: {path: )" +
                             path("train.tsv") + R"(, right: sentence1, score: ""},
         loss: {name: simcse, temperature: {value: 0.2, trainable: true}}, weight: 0.5,
         batch_size: 16}]},
      {name: second, epochs: 1, learning_rate: 1e-3, mixing: proportional, objectives: [
        {data: {path: )" + path("train.tsv") +
                             R"(, score_scale: 5}, loss: mse, batch_size: 16},
        {data: {path: )" + path("train.tsv") +
                             R"(, score_scale: 5}, loss: bsc, batch_size: 8},
        {data: {path: )" + path("train.tsv") +
                             R"(, score_scale: 5}, loss: mse, batch_size: 16}]}]
)");
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  std::string error_of(const std::vector<std::string>& overrides, ErrorKind kind) const {
    try {
      train(recipe(overrides), path("bad"), false, true, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "no error";
  }
};

TEST_F(TrainerTest, LearnsAndWritesAModelThatGivesTheVectorsThatWereEvaluated) {
  const TrainResult result = train(
      recipe({"stages.0.epochs=12", "stages.1.epochs=12", "stages.*.selection.metric=dev.pearson"}),
      path("run"), false, false, silent_events());
  ASSERT_EQ(result.reports.size(), 3u);
  EXPECT_EQ(result.reports[0].model, "small");
  EXPECT_EQ(result.reports[1].model, "bm25");
  EXPECT_EQ(result.reports[2].model, "untrained");
  EXPECT_GT(result.reports[0].metric("pearson"), result.reports[2].metric("pearson"));
  const SentenceEncoder encoder = SentenceEncoder::load(result.model_path, silent_events());
  const auto difference = check_self_test(result.model_path, encoder);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(*difference, 0);
  for (const char* file :
       {"run/run.json", "run/results.json", "run/metrics.jsonl", "run/model/README.md"}) {
    EXPECT_TRUE(file_exists(path(file))) << file;
  }
}

// Words have no vectors.
TEST_F(TrainerTest, TheGeometryOfBm25IsLeftOut) {
  const TrainResult result =
      train(recipe({"tests={name: lie, task: geometry, data: " + path("dev.tsv") + "}"}),
            path("run"), false, false, silent_events());
  std::vector<std::string> models;
  for (const Report& report : result.reports) {
    if (report.name == "lie" && !report.metrics.empty()) models.push_back(report.model);
  }
  EXPECT_THAT(models, ElementsAre("small", "untrained"));
}

TEST_F(TrainerTest, BothModelsAreEvaluatedTogetherWithBm25) {
  const TrainResult result = train(
      recipe({"baselines=[hybrid:untrained, untrained, hybrid, bm25]", "hybrid_weight=0.3",
              "stages.0.epochs=12", "stages.1.epochs=12", "stages.*.selection.metric=dev.pearson"}),
      path("run"), false, false, silent_events());
  std::map<std::string, double> pearson;
  std::vector<std::string> models;
  for (const Report& report : result.reports) {
    models.push_back(report.model);
    pearson[report.model] = report.metric("pearson");
  }
  EXPECT_THAT(models,
              ElementsAre("small", "hybrid:untrained", "untrained", "hybrid:small", "bm25"));
  EXPECT_NE(pearson["hybrid:small"], pearson["hybrid:untrained"]);
  // As the saved model is evaluated.
  EvaluationOptions options;
  options.data = path("dev.tsv");
  const auto encoder = std::make_shared<const SentenceEncoder>(
      SentenceEncoder::load(result.model_path, silent_events()));
  const auto vectors = std::make_shared<EmbeddingScorer>(
      "small", [&](const auto& texts) { return encoder->encode(texts, {}, silent_events()); });
  FusionOptions fusion;
  fusion.weight = 0.3;
  HybridScorer hybrid("hybrid:small", std::make_shared<Bm25Scorer>(), vectors, fusion);
  EXPECT_DOUBLE_EQ(evaluate(options, hybrid).metric("pearson"), pearson["hybrid:small"]);
  EXPECT_DOUBLE_EQ(evaluate(options, *vectors).metric("pearson"), pearson["small"]);
  EXPECT_EQ(read_predictions(path("run/predictions/hybrid/dev.tsv")).size(),
            read_predictions(path("run/predictions/dev.tsv")).size());
  EXPECT_THAT(error_of({"baselines=[hybrids]"}, ErrorKind::kRecipe),
              HasSubstr("did you mean 'hybrid'"));
}

// Counts the texts that a run embeds.
class EmbeddedTexts : public EventSink {
 public:
  void progress(const Progress& progress) override {
    if (progress.task != "embed") return;
    count += progress.done - before_;
    before_ = progress.done == progress.total ? 0 : progress.done;
  }
  int64_t count = 0;

 private:
  int64_t before_ = 0;
};

TEST_F(TrainerTest, TextsAreEmbeddedOnceForAModelAndItsHybrid) {
  const auto embedded = [&](const std::string& baselines) {
    EmbeddedTexts events;
    train(recipe({"baselines=" + baselines,
                  "tests={name: test, task: sts, data: " + path("dev.tsv") + "}"}),
          path("run"), false, true, events);
    return events.count;
  };
  const int64_t alone = embedded("[untrained]");
  EXPECT_GT(alone, 0);
  // A hybrid also embeds the texts of the spread.
  const auto spread = static_cast<int64_t>(spread_texts().size());
  EXPECT_EQ(embedded("[untrained, hybrid, hybrid:untrained]"), alone + 2 * spread);
}

// 20 documents and 20 queries with a word of the right one, judged half for dev, half for test.
class RankingRunTest : public TrainerTest {
 protected:
  std::string ranking(const std::string& name, const std::string& dev = "") const {
    std::string queries = "id\ttext\n", corpus = "id\ttext\n", judged[2];
    for (int i = 0; i < 20; ++i) {
      corpus += fmt::format("d{}\tw{} w{}\n", i, i, i + 20);
      queries += fmt::format("q{0}\tw{0} w{1} w{1}\n", i, i * 7 % 20);
      judged[i % 2] += fmt::format("q{0} 0 d{0} 1\n", i);
    }
    write("q.tsv", queries);
    write("c.tsv", corpus);
    write("judged-dev.tsv", judged[0]);
    write("judged-test.tsv", judged[1]);
    return fmt::format(
        "{{name: {0}, task: ranking, queries: {2}/q.tsv, corpus: {2}/c.tsv, "
        "qrels: {2}/judged-{0}.tsv, metrics: [mrr]{1}}}",
        name, dev.empty() ? "" : ", dev: " + path(dev), folder_);
  }

  // The weight in the model folder of a run, or -1 where there is none.
  double kept(const std::vector<std::string>& overrides,
              EventSink& events = silent_events()) const {
    const TrainResult result = train(recipe(overrides), path("run"), false, true, events);
    if (!file_exists(join_path(result.model_path, "search.json"))) return -1;
    return read_model_search_settings(result.model_path).fusion.weight;
  }
};

TEST_F(RankingRunTest, TheWeightThatDevChoosesIsKeptWithoutABaseline) {
  const std::string metric = "stages.*.selection.metric=dev.mrr";
  testing::Listener listener;
  const double weight = kept({"evaluations=" + ranking("dev"), metric}, listener);
  // As the evaluation of the saved model chooses it.
  EvaluationOptions options;
  options.task = "ranking";
  options.metrics = {"mrr"};
  options.ranking.queries = path("q.tsv");
  options.ranking.corpus = path("c.tsv");
  options.ranking.qrels = path("judged-test.tsv");
  options.dev = path("judged-dev.tsv");
  const auto encoder = std::make_shared<const SentenceEncoder>(
      SentenceEncoder::load(path("run/model"), silent_events()));
  HybridScorer hybrid("hybrid:m", std::make_shared<Bm25Scorer>(),
                      std::make_shared<EmbeddingScorer>("m", [&](const auto& texts) {
                        return encoder->encode(texts, {}, silent_events());
                      }));
  const Report report = evaluate(options, hybrid);
  ASSERT_TRUE(report.chosen_fusion);
  EXPECT_EQ(weight, report.chosen_fusion->weight);
  EXPECT_LT(weight, 0.875);  // one word finds each document, and the vectors are of random weights
  EXPECT_THAT(listener.told,
              Contains(AllOf(HasSubstr("run/model searches by "), HasSubstr(", chosen on dev"))));
  // Judgements of dev come before the evaluation's own, and the baseline chooses alike.
  EXPECT_EQ(kept({"tests=" + ranking("test", "judged-dev.tsv")}), weight);
  EXPECT_EQ(kept({"tests=" + ranking("test", "judged-dev.tsv"), "baselines=[hybrid]"}), weight);
  EXPECT_EQ(kept({"tests=" + ranking("test")}), -1);
  EXPECT_EQ(kept({}), -1);
}

// The corpus is embedded once for the evaluation, the choice and the baseline.
TEST_F(RankingRunTest, TheChoiceEmbedsNoCorpusAgain) {
  const auto embedded = [&](const std::vector<std::string>& overrides) {
    EmbeddedTexts events;
    kept(overrides, events);
    return events.count;
  };
  // The verdict compares the trained model and the start, each with BM25. Each of the two embeds
  // the queries of dev for the choice and for its note.
  const int64_t dev_queries = 10;
  EXPECT_EQ(embedded({"tests=" + ranking("test", "judged-dev.tsv")}),
            embedded({"tests=" + ranking("test")}) + 4 * dev_queries);
  const std::string dev = "evaluations=" + ranking("dev");
  const std::string metric = "stages.*.selection.metric=dev.mrr";
  EXPECT_EQ(embedded({dev, metric, "baselines=[untrained, hybrid]"}),
            embedded({dev, metric, "baselines=[untrained]"}));
}

TEST_F(TrainerTest, RunJsonRepeatsTheRunBitForBitOnAnyNumberOfThreads) {
  const int before = thread_count();
  set_thread_count(1);
  train(recipe(), path("one"), false, false, silent_events());
  set_thread_count(2);
  train(load_config(path("one/run.json")), path("two"), false, false, silent_events());
  set_thread_count(before);
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("two/model/model.safetensors"));
  EXPECT_EQ(bytes("one/metrics.jsonl"), bytes("two/metrics.jsonl"));
}

TEST_F(TrainerTest, ARecipeWithRelativePathsIsRepeatedFromAnotherFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  recipe();
  train(load_config("recipe.yaml"), "one", false, false, silent_events());
  std::filesystem::current_path(before);
  train(load_config(path("one/run.json")), path("two"), false, false, silent_events());
  EXPECT_EQ(bytes("one/model/model.safetensors"), bytes("two/model/model.safetensors"));
}

TEST_F(TrainerTest, AMistakeLeavesAnOlderRunAsItWasAndNoNewFolder) {
  train(recipe(), path("run"), false, false, silent_events());
  const std::string model = bytes("run/model/model.safetensors");
  EXPECT_THROW(train(recipe({"stages.1.objectives.0.data.left=nothing"}), path("run"), false, true,
                     silent_events()),
               Error);
  EXPECT_EQ(bytes("run/model/model.safetensors"), model);
  EXPECT_THAT(error_of({"tests=[{name: t, task: sts, data: nowhere.tsv}]"}, ErrorKind::kInput),
              HasSubstr("nowhere.tsv"));
  EXPECT_FALSE(folder_exists(path("bad")));
}

TEST_F(TrainerTest, AnInterruptedRunResumesToTheSameBits) {
  train(recipe(), path("whole"), false, false, silent_events());
  for (const int stop_at : {1, 5, 8, 11, 17, 21}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(recipe(), path(name), false, false, interrupter), Error);
    train(recipe(), path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(TrainerTest, AnInterruptedRunOfSeveralObjectivesResumesToTheSameBits) {
  train(several_objectives(), path("whole"), false, false, silent_events());
  for (const int stop_at : {1, 2, 8, 9, 16, 17, 31, 32, 33, 40, 48}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(several_objectives(), path(name), false, false, interrupter), Error);
    train(several_objectives(), path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(TrainerTest, StepsOfSeveralObjectivesNameTheirsAndTakeTurns) {
  train(several_objectives(), path("run"), false, false, silent_events());
  std::vector<std::string> first;
  std::map<std::string, int> second;
  std::istringstream lines(bytes("run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains("evaluation")) continue;
    const std::string objective = json.at("objective");
    if (json.at("stage") == "second") {
      ++second[objective];
      continue;
    }
    const double temperature = json.at("temperature");  // its own, which moves slowly
    EXPECT_NEAR(temperature, objective == "ranked" ? 0.1 : 0.2, 0.03);
    first.push_back(objective);
  }
  ASSERT_EQ(first.size(), 32u);  // 2 epochs of 8 rounds
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], i % 2 == 0 ? "ranked" : "same");
  EXPECT_EQ(second, (std::map<std::string, int>{{"0", 4}, {"1", 8}, {"2", 4}}));
}

TEST_F(TrainerTest, SharesDecideTheTurnsAndDataThatRunOutBeginAgain) {
  // 4, 8 and 4 batches: 16 turns an epoch, in proportion to the shares.
  const ConfigNode node =
      several_objectives({"stages.0.steps=1", "stages.1.mixing=shares", "stages.1.epochs=2",
                          "stages.1.objectives.0.share=2", "stages.1.objectives.1.share=0.5",
                          "stages.1.objectives.2.share=1.5"});
  train(node, path("whole"), false, false, silent_events());
  std::vector<std::map<std::string, int>> epochs(2);
  int steps = 0;
  std::istringstream lines(bytes("whole/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains("evaluation") || json.at("stage") != "second") continue;
    ++epochs.at(static_cast<size_t>(steps++ / 16))[json.at("objective")];
  }
  const std::map<std::string, int> expected = {{"0", 8}, {"1", 2}, {"2", 6}};
  EXPECT_THAT(epochs, ElementsAre(expected, expected));
  for (const int stop_at : {7, 17, 26}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
    train(node, path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(TrainerTest, AnEpochOfRoundsMayEndWithTheShortestObjective) {
  train(several_objectives({"stages.0.mixing_ends=shortest"}), path("run"), false, false,
        silent_events());
  EXPECT_THAT(bytes("run/metrics.jsonl"),
              AllOf(HasSubstr(R"({"stage":"first","objective":"same","step":16,"epoch":2.0,)"),
                    Not(HasSubstr(R"("stage":"first","objective":"ranked","step":17)"))));
}

TEST_F(TrainerTest, TheWeightOfAnObjectiveScalesItsGradientOnly) {
  const auto first_step = [&](const std::string& weight) {
    train(recipe({"stages.0.objectives.0.weight=" + weight, "stages.0.steps=1"}), path("run"),
          false, true, silent_events());
    std::istringstream lines(bytes("run/metrics.jsonl"));
    std::string line;
    do std::getline(lines, line);
    while (line.find("gradient_norm") == std::string::npos);
    return nlohmann::json::parse(line);
  };
  const nlohmann::json one = first_step("1"), three = first_step("3");
  EXPECT_EQ(one.at("loss"), three.at("loss"));
  EXPECT_NEAR(3 * one.at("gradient_norm").get<double>(), three.at("gradient_norm").get<double>(),
              1e-4 * three.at("gradient_norm").get<double>());
  EXPECT_FALSE(one.contains("objective"));
}

TEST_F(TrainerTest, TheStateIsSavedByTimeWithoutChangingTheResult) {
  const std::string seldom = "save_every_minutes=0", always = "save_every_minutes=1e-9";
  train(recipe({seldom}), path("seldom"), false, false, silent_events());
  for (const auto& [setting, resumed_at] : {std::pair(seldom, "resuming at stage 1 step 8"),
                                            std::pair(always, "resuming at stage 1 step 10")}) {
    Killer killer(11), resumed(0);
    EXPECT_THROW(train(recipe({setting}), path("run"), false, true, killer), Error);
    train(recipe({setting}), path("run"), true, false, resumed);
    EXPECT_EQ(resumed.resumed_at(), resumed_at);
    EXPECT_EQ(bytes("run/model/model.safetensors"), bytes("seldom/model/model.safetensors"));
    EXPECT_EQ(bytes("run/metrics.jsonl"), bytes("seldom/metrics.jsonl"));
  }
}

TEST_F(TrainerTest, AModelOfHalvesIsReportedAsItIsSaved) {
  train(recipe(), path("floats"), false, false, silent_events());
  const TrainResult result =
      train(recipe({"precision=fp16"}), path("halves"), false, false, silent_events());
  EXPECT_EQ(bytes("halves/metrics.jsonl"), bytes("floats/metrics.jsonl"));
  const SafetensorsFile floats(path("floats/model/model.safetensors"));
  const SafetensorsFile halves(path("halves/model/model.safetensors"));
  for (const TensorInfo& tensor : halves.tensors()) {
    EXPECT_EQ(tensor.type, TensorType::kF16) << tensor.name;
    std::vector<float> rounded(static_cast<size_t>(tensor.size)), read(rounded.size());
    floats.read_floats(*floats.find(tensor.name), 0, tensor.size, rounded.data());
    round_to_halves(rounded.data(), tensor.size);
    halves.read_floats(tensor, 0, tensor.size, read.data());
    EXPECT_EQ(read, rounded) << tensor.name;
  }
  const SentenceEncoder encoder = SentenceEncoder::load(result.model_path, silent_events());
  EXPECT_EQ(check_self_test(result.model_path, encoder), 0);
  EvaluationOptions dev;
  dev.name = "dev";
  dev.data = path("dev.tsv");
  EmbeddingScorer scorer("small", [&](const std::vector<std::string>& texts) {
    return encoder.encode(texts, {}, silent_events());
  });
  EXPECT_EQ(load_task(dev)->evaluate(scorer).metric("spearman"),
            result.reports[0].metric("spearman"));
}

TEST_F(TrainerTest, ARunIsNeitherOverwrittenNorSharedUnasked) {
  train(recipe(), path("run"), false, false, silent_events());
  const auto again = [&](const ConfigNode& node, bool resume) {
    try {
      train(node, path("run"), resume, false, silent_events());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(again(recipe(), false),
              AllOf(HasSubstr("already holds a run"), HasSubstr("--resume")));
  EXPECT_THAT(again(recipe({"seed=2"}), true), HasSubstr("seed 1, now 2;"));
  EXPECT_THAT(again(recipe(), true), "no error");
}

TEST_F(TrainerTest, OtherDataThanTheRunBeganWithIsRefusedAtItsResume) {
  Interrupter interrupter(3);
  EXPECT_THROW(train(recipe(), path("run"), false, false, interrupter), Error);
  for (const std::string name : {"train.tsv", "dev.tsv"}) {
    SCOPED_TRACE(name);
    const std::string whole = read_file(path(name));
    write(name, whole + whole.substr(whole.find('\n') + 1));
    try {
      train(recipe(), path("run"), true, false, silent_events());
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot resume"), HasSubstr("/" + name + " was")));
    }
    write(name, whole);
  }
  EXPECT_NO_THROW(train(recipe(), path("run"), true, false, silent_events()));
}

TEST_F(TrainerTest, AFolderThatHoldsNoRunKeepsWhatIsInIt) {
  for (const char* folder : {"mine/predictions", "mine/states", "mine/run-7"}) {
    make_folders(path(folder));
    write(std::string(folder) + "/kept.txt", "kept");
  }
  write("mine/run-7/run.json", "{}");
  train(recipe(), path("mine"), false, false, silent_events());
  for (const char* file :
       {"mine/predictions/kept.txt", "mine/states/kept.txt", "mine/run-7/kept.txt"}) {
    EXPECT_TRUE(file_exists(path(file))) << file;
  }
}

TEST_F(TrainerTest, MistakesInARecipeAreToldBeforeTheFirstStep) {
  const ErrorKind recipe_error = ErrorKind::kRecipe, input = ErrorKind::kInput;
  EXPECT_THAT(error_of({"stages.0.objectives.0.los=mse"}, recipe_error),
              AllOf(HasSubstr("'stages.0.objectives.0.los'"), HasSubstr("did you mean 'loss'")));
  EXPECT_THAT(error_of({"stages.0.selection.metric=test.spearman"}, recipe_error),
              HasSubstr("selection.metric"));
  EXPECT_THAT(error_of({"stages.1.selection.metric=dev.spearmen"}, recipe_error),
              HasSubstr("the evaluation 'dev' has no metric 'spearmen' (did you mean 'spearman'"));
  EXPECT_THAT(error_of({"stages.1.objectives.0.dev={skip: 10}", "stages.1.selection.metric=loss.x"},
                       recipe_error),
              HasSubstr("there is no loss 'x'; there are 0, all"));
  EXPECT_FALSE(folder_exists(path("bad")));
  EXPECT_THAT(error_of({"stages.0.objectives.0.data.score=grade"}, input),
              AllOf(HasSubstr("train.tsv"), HasSubstr("grade")));
  EXPECT_THAT(error_of({"stages.0.objectives.0.loss=triplet"}, recipe_error),
              HasSubstr("needs a negative column"));
  EXPECT_THAT(error_of({"max_length=99"}, recipe_error), HasSubstr("max_length"));
  EXPECT_THAT(error_of({"architecture.heads=3"}, input), HasSubstr("heads"));
  EXPECT_THAT(error_of({"model=nowhere", "architecture.layers=0"}, input), HasSubstr("nowhere"));
  EXPECT_THAT(error_of({"tokenizer=nowhere"}, input), HasSubstr("nowhere"));
  EXPECT_THAT(error_of({"stages.1.name=first"}, recipe_error), HasSubstr("two stages"));
  EXPECT_THAT(error_of({"stages.0.objectives=[]"}, recipe_error), HasSubstr("at least one"));
  EXPECT_THAT(error_of({"stages.0.mixing=mixed"}, recipe_error), HasSubstr("round_robin"));
  EXPECT_THAT(
      error_of({"stages.0.mixing=sequential", "stages.0.mixing_ends=shortest"}, recipe_error),
      AllOf(HasSubstr("mixing_ends"), HasSubstr("sequential")));
  EXPECT_THAT(error_of({"stages.0.objectives.0.share=2"}, recipe_error),
              HasSubstr("`share` belongs to `mixing: shares`"));
  EXPECT_THAT(error_of({"stages.0.objectives.0.share=0", "stages.0.mixing=shares"}, recipe_error),
              HasSubstr("an objective whose `share` is above 0"));
  EXPECT_THAT(error_of({"evaluations.name=dev.v1"}, recipe_error),
              HasSubstr("give it a name without '.' and '/'"));
  EXPECT_THAT(
      error_of({"stages.1.objectives.0.teachers=[first]", "stages.1.objectives.0.teacher_tokens=1"},
               recipe_error),
      HasSubstr("the teacher 'first' is a stage"));
  EXPECT_THAT(error_of({"stages.0.objectives.0.weight=0"}, recipe_error), HasSubstr("weight"));
  EXPECT_THAT(error_of({"precision=fp8"}, recipe_error), HasSubstr("fp16"));
  EXPECT_THAT(error_of({"save_every_minutes=-1"}, recipe_error), HasSubstr("at least 0"));
  const std::string two =
      "stages.0.objectives=[{name: a, data: {path: x}}, {name: a, data: {path: y}}]";
  EXPECT_THAT(error_of({two}, recipe_error), HasSubstr("two objectives of 'first' are called 'a'"));
  write("words.tsv", "sentence1\tsentence2\tscore\nw1\tw2\tmany\n");
  EXPECT_THAT(error_of({"stages.0.objectives.0.data.path=" + path("words.tsv")}, input),
              AllOf(HasSubstr("words.tsv:2"), HasSubstr("many")));
}

TEST_F(TrainerTest, ANonFiniteLossNamesStepRowsAndCauses) {
  EXPECT_THAT(error_of({"stages.0.learning_rate=10", "stages.0.epochs=200",
                        "stages.0.optimizer.clip_norm=0", "stages.0.optimizer.weight_decay=1",
                        "stages.0.schedule.name=constant"},
                       ErrorKind::kFailed),
              AllOf(HasSubstr("step"), HasSubstr("pairs"), HasSubstr("learning rate")));
}

TEST_F(TrainerTest, MinutesPlanTheStepsAndAResumedRunKeepsThePlan) {
  const std::vector<std::string> timed = {"stages.0.minutes=0.02", "stages.0.epochs=0",
                                          "stages.1.steps=1",
                                          "stages.0.selection={keep: last, every_steps: 1000000}"};
  Interrupter events(10);
  EXPECT_THROW(train(recipe(timed), path("run"), false, false, events), Error);
  TrainOptions options;
  read_options(without_environment(load_config(path("run/run.json"))), options);
  const auto state =
      StateStore(path("run/states"), 2)
          .load(
              options_to_json(options), [](const LogMark&) { return true; }, silent_events());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->step, 10);
  EXPECT_GE(state->planned_steps, 10);
  EXPECT_GT(state->trained_seconds, 0);
  EXPECT_GT(state->step_seconds, 0);
  train(recipe(timed), path("run"), true, false, silent_events());
  const std::vector<double> rates = logged("run", "learning_rate");  // of stage 0, then one
  ASSERT_GE(rates.size(), 11u);
  if (state->planned_steps == 10) return;  // a machine so slow that the time was over
  EXPECT_FLOAT_EQ(rates[10],
                  1e-3 * schedule_factor(options.stages[0].schedule, 10, state->planned_steps));
}

}  // namespace
}  // namespace simile
