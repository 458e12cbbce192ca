// SPDX-License-Identifier: Apache-2.0
// Whole runs with heads, several tasks, teachers, regularisers and stages that refer to others.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/task.h"
#include "simile/model/model_folder.h"
#include "simile/model/safetensors.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::Interrupter;

using Json = nlohmann::json;

// The head of every recipe here; its stages follow.
constexpr const char* kStart = R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
baselines: [bm25, untrained]
)";

constexpr const char* kTasks = R"(
heads:
  - {name: kind, kind: mlp, input: single, output: classes, class_names: [low, high]}
  - {name: alike, kind: concat, input: pair, output: probability}
  - {name: joint, kind: mlp, input: joint, output: score}
stages:
  - name: tasks
    objectives:
      - {name: kind, data: {path: words.tsv, format: classes}, loss: softmax_classification,
         head: kind, batch_size: 8}
      - {name: alike, data: {path: alike.tsv}, dev: {path: alike-dev.tsv}, loss: bce, head: alike,
         batch_size: 8}
      - {name: joint, data: {path: train.tsv, score_scale: 5}, loss: mse, head: joint,
         batch_size: 16}
    epochs: 3
    learning_rate: 1e-3
    head_learning_rate: 1e-2
    selection: {metric: [kind.accuracy, alike.ap, joint.spearman]}
evaluations:
  - {name: kind, task: classification, data: words.tsv, head: kind}
  - {name: alike, task: pairs, data: alike.tsv, head: alike}
  - {name: joint, task: sts, data: dev.tsv, head: joint}
)";

constexpr const char* kRcl = R"(
stages:
  - name: entropy
    objectives: {data: {path: train.tsv, score_scale: 5}, dev: {path: dev.tsv}, batch_size: 16,
                 loss: {name: rcl_entropy, phi: 0.05}}
    epochs: 2
    learning_rate: 1e-3
    selection: {metric: loss.all, every_steps: 2, early_stop: {patience: 3}}
  - name: other
    from: start
    objectives: {data: {path: train.tsv, score_scale: 5}, batch_size: 16, loss: rcl_entropy}
    epochs: 1
    learning_rate: 1e-3
  - name: final
    from: start
    objectives: {data: {path: train.tsv, score_scale: 5}, batch_size: 16, loss: rcl,
                 teachers: [entropy, other], teacher_storage: fp16}
    epochs: 1
    learning_rate: 1e-3
    selection: {metric: dev.spearman, every_steps: 2}
evaluations: {name: dev, task: sts, data: dev.tsv}
)";

class MethodsTest : public testing::RunTest {
 protected:
  MethodsTest() {
    std::string words = "sentence\tlabel\n", alike = "sentence1\tsentence2\tscore\n";
    for (int i = 0; i < 40; ++i) {
      words += fmt::format("w{} w{}\t{}\n", i, (i * 7 + 3) % 40, i < 20 ? "low" : "high");
      alike += fmt::format("w{0} w{1}\tw{0} w{2}\t{3}\n", i, (i * 3) % 40,
                           i % 2 == 0 ? (i * 3) % 40 : (i * 5 + 1) % 40, i % 2 == 0 ? 1 : 0);
    }
    write("words.tsv", words);
    write("alike.tsv", alike);
    write("alike-dev.tsv", alike);
  }

  ConfigNode recipe(const std::string& stages, const std::vector<std::string>& overrides = {}) {
    write("recipe.yaml", kStart + stages);
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  TrainResult run(const std::string& stages, const std::string& folder,
                  const std::vector<std::string>& overrides = {}) {
    return train(recipe(stages, overrides), path(folder), false, true, silent_events());
  }

  std::string error_of(const std::string& stages, const std::vector<std::string>& overrides = {}) {
    try {
      run(stages, "bad", overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  // Interrupts the run at several steps and expects it to end as if it had not been.
  void expect_resumes(const std::string& stages, const std::vector<int>& stops,
                      const std::vector<std::string>& overrides = {}) {
    run(stages, "whole", overrides);
    for (const int stop_at : stops) {
      Interrupter interrupter(stop_at);
      const std::string name = fmt::format("cut{}", stop_at);
      const ConfigNode node = recipe(stages, overrides);
      EXPECT_THROW(train(node, path(name), false, false, interrupter), Error);
      train(node, path(name), true, false, silent_events());
      EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
      EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
      expect_equal_heads("whole/model", name + "/model");
    }
  }

  void expect_equal_heads(const std::string& one, const std::string& other) {
    for (const SavedHead& head : open_model_folder(path(one), silent_events()).heads) {
      const std::string file = "/heads/" + head.settings.name + "/model.safetensors";
      EXPECT_EQ(bytes(one + file), bytes(other + file)) << head.settings.name;
    }
  }

  // The values of one key in the steps of metrics.jsonl.
  std::vector<double> logged(const std::string& folder, const std::string& key) {
    std::istringstream lines(bytes(folder + "/metrics.jsonl"));
    std::vector<double> values;
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      if (json.contains(key)) values.push_back(json[key]);
    }
    return values;
  }

  // A metric of an evaluation, in order.
  std::vector<double> evaluated(const std::string& folder, const std::string& evaluation,
                                const std::string& metric) {
    std::istringstream lines(bytes(folder + "/metrics.jsonl"));
    std::vector<double> values;
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      if (json.value("evaluation", "") == evaluation) values.push_back(json["metrics"][metric]);
    }
    return values;
  }
};

const Report& find_report(const TrainResult& result, const std::string& name,
                          const std::string& model) {
  for (const Report& report : result.reports) {
    if (report.name == name && report.model == model) return report;
  }
  throw std::runtime_error("no report " + name + " of " + model);
}

TEST_F(MethodsTest, SeveralTasksAreLearntOnOneEncoderEachWithItsHead) {
  const TrainResult result =
      run(kTasks, "run", {"stages.0.epochs=30", "stages.0.learning_rate=3e-3"});
  for (const auto& [name, metric] : std::vector<std::pair<std::string, std::string>>{
           {"kind", "accuracy"}, {"alike", "ap"}, {"mean", "mean"}}) {
    EXPECT_GT(find_report(result, name, "small").metric(metric),
              find_report(result, name, "untrained").metric(metric))
        << name;
  }
  const Report& mean = find_report(result, "mean", "small");
  EXPECT_NEAR(mean.metric("mean"),
              (find_report(result, "kind", "small").metric("accuracy") +
               find_report(result, "alike", "small").metric("ap") +
               find_report(result, "joint", "small").metric("spearman")) /
                  3,
              1e-12);
}

TEST_F(MethodsTest, TheSavedHeadsGiveTheReportedMetrics) {
  const TrainResult result = run(kTasks, "run");
  const ModelFolder folder = open_model_folder(result.model_path, silent_events());
  ASSERT_EQ(folder.heads.size(), 3u);
  const auto encoder = std::make_shared<const SentenceEncoder>(
      SentenceEncoder::load(result.model_path, silent_events()));
  EmbeddingScorer scorer(
      "small",
      [&](const std::vector<std::string>& texts) {
        return encoder->encode(texts, {}, silent_events());
      },
      Similarity::kCosine, {},
      head_runner(encoder, load_heads(folder), EncodeOptions(), silent_events()));
  EvaluationOptions options;
  options.task = "classification";
  options.data = path("words.tsv");
  options.head = "kind";
  EXPECT_EQ(load_task(options)->evaluate(scorer).metric("accuracy"),
            find_report(result, "kind", "small").metric("accuracy"));
  EvaluationOptions joint;
  joint.data = path("dev.tsv");
  joint.head = "joint";
  EXPECT_EQ(load_task(joint)->evaluate(scorer).metric("spearman"),
            find_report(result, "joint", "small").metric("spearman"));
}

TEST_F(MethodsTest, ARunOfSeveralTasksResumesToTheSameBits) {
  expect_resumes(kTasks, {1, 4, 9, 16});
}

TEST_F(MethodsTest, HeadsThatShareLayersAreTrainedAsOneAndSavedWhole) {
  const std::vector<std::string> shared = {"heads.2.shares=kind",
                                           "stages.0.siar={weight: 0, bregman: 0.5}"};
  expect_resumes(kTasks, {7}, shared);
  std::map<std::string, std::vector<float>> weights;
  for (const SavedHead& head : open_model_folder(path("whole/model"), silent_events()).heads) {
    weights[head.settings.name] = read_head_weights(head, 16);
    EXPECT_EQ(head.settings.shares, head.settings.name == "joint" ? "kind" : "");
  }
  const std::vector<float>&kind = weights["kind"], &joint = weights["joint"];
  const int64_t inner = 16 * 16 + 16;
  ASSERT_EQ(joint.size(), static_cast<size_t>(inner + 16 + 1));
  EXPECT_TRUE(std::equal(kind.begin(), kind.begin() + inner, joint.begin()));
  EXPECT_FALSE(std::equal(kind.begin() + inner, kind.begin() + inner + 16, joint.begin() + inner));
  const std::vector<std::string> joint_alone = {
      "heads.2.shares=kind", "stages.0.objectives.0.head=joint", "stages.0.objectives.0.loss=mse",
      "stages.0.objectives.0.data={path: " + path("train.tsv") + ", score_scale: 5}",
      "stages.0.selection.metric=joint.spearman"};
  run(kTasks, "alone", joint_alone);
  for (const SavedHead& head : open_model_folder(path("alone/model"), silent_events()).heads) {
    if (head.settings.name != "kind") continue;
    const std::vector<float> trained = read_head_weights(head, 16);
    std::vector<float> start(trained.size());
    initialise_head_weights(head.settings, 16, 1, start.data());
    EXPECT_FALSE(std::equal(trained.begin(), trained.begin() + inner, start.begin()));
    EXPECT_TRUE(std::equal(trained.begin() + inner, trained.end(), start.begin() + inner));
  }
}

TEST_F(MethodsTest, AHeadOfTheModelIsGoneOnWith) {
  run(kTasks, "first");
  const std::string next = R"(
stages:
  - name: more
    objectives: {data: {path: words.tsv, format: classes}, loss: softmax_classification, head: kind}
    steps: 1
    learning_rate: 1e-12
evaluations: {name: kind, task: classification, data: words.tsv, head: kind}
)";
  const std::vector<std::string> from_model = {"architecture.layers=0",
                                               "tokenizer=", "model=" + path("first/model")};
  const TrainResult result = run(next, "second", from_model);
  EXPECT_EQ(find_report(result, "kind", "small").metric("accuracy"),
            find_report(result, "kind", "zero-shot").metric("accuracy"));
  const Gain* majority = result.verdict->find("majority");
  ASSERT_NE(majority, nullptr);
  EXPECT_GE(majority->start[0], 0.5);
  EXPECT_EQ(majority->trained[0], find_report(result, "kind", "small").metric("accuracy"));
  EXPECT_THAT(majority->rival, AnyOf("always answering 'low'", "always answering 'high'"));
  EXPECT_EQ(open_model_folder(result.model_path, silent_events()).heads.size(), 3u);
  std::vector<std::string> other = from_model;
  other.push_back(
      "heads={name: kind, kind: linear, input: single, output: classes, "
      "class_names: [low, high]}");
  EXPECT_THAT(error_of(next, other), HasSubstr("other settings"));
}

TEST_F(MethodsTest, TextsOfNoClassAreToldByTheEvaluationOfTheHead) {
  testing::Listener events;
  train(recipe(kTasks), path("run"), false, false, events);
  const ModelFolder folder = open_model_folder(path("run/model"), silent_events());
  const Head head = load_head(folder, "kind");
  ASSERT_TRUE(head.scope);
  ASSERT_EQ(head.scope->means.size(), 2u);
  EXPECT_THAT(events.told,
              ::testing::Contains(AllOf(HasSubstr("head 'kind': a text whose similarity"),
                                        HasSubstr("as 5 % of the texts of 'kind' would"))));
  EXPECT_FALSE(load_head(folder, "joint").scope);
  const SentenceEncoder encoder = SentenceEncoder::load(path("run/model"), silent_events());
  EncodeOptions raw;
  raw.normalize = false;
  PairDataOptions words;
  words.path = path("words.tsv");
  words.format = "classes";
  const std::vector<double> found =
      head.scope->similarities(encoder.encode(read_pairs(words).left, raw, silent_events()));
  const auto outside = std::count_if(found.begin(), found.end(), [&](double similarity) {
    return similarity < head.scope->minimum_similarity;
  });
  EXPECT_LE(static_cast<double>(outside), 0.05 * static_cast<double>(found.size()));
}

TEST_F(MethodsTest, AFrozenEncoderStaysAndItsHeadLearns) {
  run(kTasks, "run", {"stages.0.frozen=true", "stages.0.epochs=8"});
  run(kTasks, "same", {"stages.0.frozen=true", "stages.0.epochs=1"});
  EXPECT_EQ(bytes("run/model/model.safetensors"), bytes("same/model/model.safetensors"));
  const std::vector<double> losses = evaluated("run", "loss", "all");
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_THAT(error_of(kRcl, {"stages.0.frozen=true"}), HasSubstr("no head"));
}

TEST_F(MethodsTest, TheLossOnDevDataFallsAndChoosesTheWeights) {
  run(kTasks, "run", {"stages.0.selection.metric=loss.all", "stages.0.epochs=6"});
  const std::vector<double> losses = evaluated("run", "loss", "alike");
  ASSERT_EQ(losses.size(), 7u);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(losses, evaluated("run", "loss", "all"));
}

TEST_F(MethodsTest, EntropyModelsTeachTheFinalOneAndItAllResumes) {
  const TrainResult result = run(kRcl, "run");
  EXPECT_EQ(result.reports[0].model, "small");
  std::vector<std::string> stores;
  for (const auto& file : std::filesystem::directory_iterator(path("run/teachers"))) {
    if (file.path().extension() == ".npy") stores.push_back(file.path());
  }
  EXPECT_EQ(stores.size(), 2u);
  EXPECT_TRUE(file_exists(path("run/stages/entropy.safetensors")));
  EXPECT_FALSE(file_exists(path("run/stages/final.safetensors")));
  expect_resumes(kRcl, {1, 6, 9, 11, 13, 15});
}

TEST_F(MethodsTest, VectorsOfTeachersAreReusedWhenNothingChanged) {
  run(kRcl, "run");
  const auto store = std::filesystem::directory_iterator(path("run/teachers"))->path();
  const auto written = std::filesystem::last_write_time(store);
  run(kRcl, "run");
  EXPECT_EQ(std::filesystem::last_write_time(store), written);
}

TEST_F(MethodsTest, AModelTeachesAStudentOfAnotherSize) {
  run(kRcl, "teacher");
  const std::string student = R"(
stages:
  - name: distil
    objectives:
      data: {path: train.tsv, score: ""}
      dev: {path: dev.tsv}
      loss: {name: distill, distance: cosine}
      teachers: )" + path("teacher/model") +
                              R"(
      batch_size: 8
    epochs: 4
    learning_rate: 1e-2
    selection: {metric: loss.all}
evaluations: {name: dev, task: sts, data: dev.tsv}
)";
  const std::vector<std::string> small = {"architecture.hidden=8", "architecture.intermediate=16"};
  run(student, "student", small);
  const std::vector<double> losses = evaluated("student", "loss", "all");
  EXPECT_LT(losses.back(), 0.8 * losses.front());
  expect_resumes(student, {3, 20}, small);
}

TEST_F(MethodsTest, RunsShareTheVectorsOfReducedTeachers) {
  run(kRcl, "teacher");
  const std::string student = fmt::format(R"(
stages:
  - name: distil
    objectives:
      data: {{path: train.tsv, left: sentence1, right: "", score: ""}}
      loss: {{name: sum, of: [{{name: distill, distance: cosine}}, {{name: distill, distance: scores}}]}}
      teachers: [{0}]
      teacher_precision: int8
      teacher_vectors: {1}
      teacher_dimensions: 8
      batch_size: 8
    epochs: 20
    learning_rate: 1e-2
evaluations: {{name: dev, task: sts, data: dev.tsv}}
)",
                                          path("teacher/model"), path("vectors"));
  const std::vector<std::string> small = {"architecture.hidden=8", "architecture.intermediate=16",
                                          "hidden_dropout=0", "attention_dropout=0"};
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(path("vectors")), {});
  };
  std::vector<std::string> fill = small;
  fill.emplace_back("stages.0.epochs=0");
  run(student, "fill", fill);
  const auto files = count();
  EXPECT_EQ(files, 5);  // a block, its .json and keys; the axes and their .json
  run(student, "student", small);
  const std::vector<double> losses = logged("student", "loss");
  EXPECT_LT(losses.back(), 0.6 * losses.front());
  EXPECT_FALSE(folder_exists(path("student/teachers")));
  run(student, "again", small);
  EXPECT_EQ(count(), files);
  EXPECT_EQ(logged("again", "loss"), losses);
  EXPECT_THAT(error_of(student, {"stages.0.objectives.0.teacher_dimensions=64"}),
              HasSubstr("teacher_dimensions is 64"));
  // A teacher is loaded only for texts whose vectors are missing: only then its damage is met.
  const std::string checksums = path("teacher/model/checksums.json");
  std::string json = read_file(checksums);
  char& digit = json[json.find("hash", json.find("\"model.safetensors\"")) + 11];
  digit = digit == '0' ? '1' : '0';
  std::ofstream(checksums) << json;
  run(student, "unread", small);
  EXPECT_EQ(logged("unread", "loss"), losses);
  EXPECT_THAT(error_of(student, {"stages.0.objectives.0.teacher_precision=fp32"}),
              HasSubstr("model.safetensors"));
}

TEST_F(MethodsTest, SingleTextsAreReadOnceWhereAllLossesOfASumCompareTeachers) {
  run(kRcl, "teacher");
  write("texts.txt", "w1 w2\nw3 w4\nw5 w6 w7\nw8\n");
  const auto message = [&](const std::string& second) {
    return error_of(fmt::format(R"(
stages:
  - objectives: {{data: {{path: texts.txt, format: texts}}, teachers: {}, batch_size: 4,
                 order: {{name: neighbours, side: right}},
                 loss: {{name: sum, of: [{{name: distill, distance: scores}}, {}]}}}}
    steps: 2
evaluations: {{name: dev, task: sts, data: dev.tsv}}
)",
                                path("teacher/model"), second),
                    {"hidden_dropout=0", "attention_dropout=0"});
  };
  const std::string distill = "{name: distill, distance: cosine}";
  EXPECT_THAT(message(distill), HasSubstr("single texts have no right side"));
  EXPECT_THAT(message("{name: matryoshka, dimensions: [8], of: {name: distill, distance: scores}}"),
              HasSubstr("single texts have no right side"));
  EXPECT_THAT(message("mnrl"), Not(HasSubstr("no right side")));
}

TEST_F(MethodsTest, SmoothnessIsAddedLoggedAndResumed) {
  const std::vector<std::string> smooth = {
      "stages.0.siar={weight: 3, bregman: 0.5, radius: 1e-3, step_size: 1e-2}"};
  run(kTasks, "run", smooth);
  const std::vector<double> penalties = logged("run", "siar");
  ASSERT_EQ(penalties.size(), 45u);
  EXPECT_GT(penalties[3], 0);
  EXPECT_EQ(logged("run", "siar_skipped").back(), 0);
  expect_resumes(kTasks, {5, 12}, smooth);
}

TEST_F(MethodsTest, SmoothnessWithoutARadiusChangesNothing) {
  run(kTasks, "plain");
  run(kTasks, "smooth", {"stages.0.siar={weight: 3, radius: 0}"});
  for (const double penalty : logged("smooth", "siar")) EXPECT_EQ(penalty, 0);
  EXPECT_EQ(logged("plain", "loss"), logged("smooth", "loss"));
}

TEST_F(MethodsTest, DropHeadChangesTrainingAlone) {
  run(kTasks, "plain");
  const TrainResult result = run(kTasks, "dropped", {"drop_head=0.5"});
  EXPECT_NE(logged("plain", "loss"), logged("dropped", "loss"));
  EXPECT_EQ(
      check_self_test(result.model_path, SentenceEncoder::load(result.model_path, silent_events())),
      0);
}

TEST_F(MethodsTest, ATrainedTemperatureGoesOnInTheNextStageAndTheNextRun) {
  const std::string stages = R"(
stages:
  - name: first
    objectives: &it {data: {path: train.tsv, score_scale: 5}, batch_size: 8,
      loss: {name: bsc, temperature: {value: 0.2, trainable: true, learning_rate: 0.1}}}
    epochs: 2
    learning_rate: 1e-3
  - {name: second, objectives: *it, steps: 1, learning_rate: 1e-12}
)";
  run(stages, "run");
  const std::vector<double> temperatures = logged("run", "temperature");
  ASSERT_EQ(temperatures.size(), 17u);
  EXPECT_GT(std::abs(temperatures[15] - 0.2), 0.01);
  EXPECT_NEAR(temperatures[16], temperatures[15], 0.2 * temperatures[15]);
  const ModelFolder model = open_model_folder(path("run/model"), silent_events());
  EXPECT_NEAR(model.settings.temperatures.at("bsc l2"), temperatures[16], 1e-6);
  run(stages, "more",
      {"architecture.layers=0", "tokenizer=", "model=" + path("run/model"),
       "stages.0.learning_rate=1e-12"});
  EXPECT_NEAR(logged("more", "temperature")[0], temperatures[16], 0.2 * temperatures[16]);
  run(stages, "again", {"stages.1.from=start"});
  EXPECT_NEAR(logged("again", "temperature")[16], 0.2, 0.04);
}

TEST_F(MethodsTest, TheMovingAverageDoesNotDependOnWhenTheModelIsEvaluated) {
  const std::vector<std::string> bregman = {"stages.0.siar={bregman: 1}",
                                            "stages.0.selection.keep=last"};
  run(kTasks, "rarely", bregman);
  std::vector<std::string> often = bregman;
  often.push_back("stages.0.selection.every_steps=1");
  run(kTasks, "often", often);
  EXPECT_EQ(logged("rarely", "siar"), logged("often", "siar"));
}

TEST_F(MethodsTest, ObjectivesWithTheSameDataReadItOnce) {
  class Notes : public EventSink {
   public:
    void info(const std::string& message) override {
      count += message.find("60 pairs") != std::string::npos ? 1 : 0;
    }
    int count = 0;
  } notes;
  train(recipe(kRcl), path("run"), false, false, notes);
  EXPECT_EQ(notes.count, 1);
}

TEST_F(MethodsTest, StagesBeginWhereTheySayTheyDo) {
  const std::string stages = R"(
stages:
  - name: first
    objectives: &it {data: {path: train.tsv, score_scale: 5}, batch_size: 8, loss: mse}
    epochs: 2
    learning_rate: 1e-3
  - {name: second, objectives: *it, epochs: 2, learning_rate: 1e-3}
  - {name: third, from: first, objectives: *it, steps: 1, learning_rate: 1e-12,
     optimizer: {weight_decay: 0}}
)";
  run(stages, "whole");
  run(stages, "start", {"stages.2.from=start"});
  const auto word = [&](const std::string& run) {
    const SafetensorsFile file(path(run + "/model/model.safetensors"));
    std::vector<float> values(static_cast<size_t>(file.tensors()[0].size));
    file.read_floats(file.tensors()[0], 0, file.tensors()[0].size, values.data());
    return values;
  };
  EXPECT_NE(word("whole"), word("start"));
  run(stages, "first", {"stages.1.steps=1", "stages.1.learning_rate=1e-12"});
  const std::vector<float> kept = word("whole"), expected = word("first");
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(kept[i], expected[i], 1e-6);
}

TEST_F(MethodsTest, MistakesSayWhatToChange) {
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.0.head=none"}),
              AllOf(HasSubstr("no head 'none'"), HasSubstr("kind, alike, joint")));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.0.head="}),
              AllOf(HasSubstr("softmax_classification"), HasSubstr("a head")));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.0.head=alike"}), HasSubstr("input: pair"));
  EXPECT_THAT(error_of(kTasks, {"heads.0.class_names=[low, middle]"}),
              AllOf(HasSubstr("'high'"), HasSubstr("low, middle")));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.0.loss=bsc"}),
              AllOf(HasSubstr("pairs of texts"), HasSubstr("softmax_classification")));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.2.order=neighbours"}),
              HasSubstr("joint head"));
  EXPECT_THAT(error_of(kTasks, {"stages.0.frozen=true", "stages.0.siar.weight=1"}),
              HasSubstr("frozen"));
  EXPECT_THAT(error_of(kRcl, {"stages.2.objectives.0.teachers=[final]"}),
              HasSubstr("no earlier than it"));
  EXPECT_THAT(error_of(kRcl, {"stages.2.objectives.0.teachers=[]"}), HasSubstr("teachers"));
  EXPECT_THAT(error_of(kRcl, {"stages.1.from=final"}), HasSubstr("earlier stage"));
  EXPECT_THAT(error_of(kRcl, {"evaluations.0.name=loss"}), HasSubstr("loss"));
  EXPECT_THAT(error_of(kRcl, {"stages.2.objectives.0.teachers=[/nowhere]"}), HasSubstr("nowhere"));
  EXPECT_THAT(error_of(kRcl, {"stages.0.selection.metric=[loss.all, dev.spearman]"}),
              HasSubstr("mixes losses"));
  EXPECT_THAT(error_of(kRcl, {"stages.0.selection.metric=[dev.alignment, dev.spearman]"}),
              HasSubstr("a lower value of some is better"));
  EXPECT_THAT(error_of(kRcl, {"stages.0.selection.metric=dev.threshold"}),
              HasSubstr("neither a higher nor a lower"));
  EXPECT_THAT(error_of(kRcl, {"stages.1.selection.early_stop.patience=2"}), HasSubstr("patience"));
  EXPECT_THAT(error_of(kRcl, {"stages.2.name=a/b"}), HasSubstr("'/'"));
  EXPECT_THAT(error_of(kRcl, {"stages.0.objectives.0.dev={limit: 5}"}),
              HasSubstr("first training examples"));
  EXPECT_THAT(error_of(kRcl, {"stages.0.objectives.0.max_length=17"}), HasSubstr("max_length"));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.1.loss=mse"}), HasSubstr("output: score"));
  EXPECT_THAT(error_of(kTasks, {"stages.0.objectives.2.loss={name: sum, of: [bsc, mse]}"}),
              AllOf(HasSubstr("'bsc'"), HasSubstr("pairs of texts")));
  EXPECT_FALSE(folder_exists(path("bad")));
}

TEST_F(MethodsTest, AMistakeInALaterStageIsToldBeforeTheFirst) {
  EXPECT_THAT(error_of(kRcl, {"stages.2.objectives.0.loss={name: matryoshka, dimensions: [400], "
                              "of: bsc}"}),
              HasSubstr("400"));
  EXPECT_FALSE(folder_exists(path("bad")));
}

}  // namespace
}  // namespace simile
