// SPDX-License-Identifier: Apache-2.0
// `simile predict` as a user runs it, on a model with heads that the library saved.
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/encode/sentence_encoder.h"
#include "simile/eval/predictions.h"
#include "simile/model/model_writer.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HeadSettings make_head(const std::string& name, const std::string& kind, const std::string& input,
                       const std::string& output) {
  HeadSettings settings;
  settings.name = name;
  settings.kind = kind;
  settings.input = input;
  settings.output = output;
  if (output == "classes") settings.class_names = {"bad", "so \"so\"", "good"};
  return settings;
}

// The golden model with `heads`, saved to `folder`.
void save_model(const std::string& folder, const std::vector<HeadSettings>& heads) {
  const std::string golden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  const ModelFolder opened = open_model_folder(golden, silent_events());
  ModelToSave model;
  model.settings = opened.settings;
  const EncoderShape shape = model.settings.encoder.shape();
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(shape)));
  read_encoder_weights(opened.weights_path, model.settings.encoder, flat.data(), silent_events());
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(golden);
  std::vector<std::vector<float>> weights;
  for (const HeadSettings& head : heads) {
    weights.emplace_back(static_cast<size_t>(head_parameter_count(head, shape.hidden)));
    initialise_head_weights(head, shape.hidden, 1, weights.back().data());
  }
  for (size_t i = 0; i < heads.size(); ++i) model.heads.push_back({heads[i], weights[i].data()});
  save_model_folder(folder, model);
}

class PredictTest : public ShellTest {
 protected:
  PredictTest() {
    save_model(path("model"), {make_head("mood", "mlp", "single", "classes"),
                               make_head("same", "concat", "pair", "probability"),
                               make_head("near", "cosine", "pair", "score"),
                               make_head("cross", "linear", "joint", "score")});
    write("texts.txt", "hello world\n\nthe quick brown fox\n");
    write("pairs.tsv", "hello\thello\nthe quick fox\tworld\n");
    write("pairs.jsonl", R"({"text":"hello","pair":"hello"})"
                         "\n"
                         R"({"text":"the quick fox","pair":"world"})"
                         "\n");
  }

  // `simile predict --model model` with `arguments`, or another command.
  Outcome predict(const std::string& arguments, const std::string& command = "predict") const {
    return shell("simile " + command + " --model model " + arguments);
  }

  void expect_error(const std::string& arguments, int code, const std::string& message) const {
    ShellTest::expect_error("simile predict --model model " + arguments, code, message);
  }
};

TEST_F(PredictTest, ClassesComeWithTheirProbabilities) {
  const Outcome outcome = predict("--head mood --input texts.txt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const ModelFolder model = open_model_folder(path("model"), silent_events());
  const SentenceEncoder encoder = SentenceEncoder::load(path("model"), silent_events());
  const Head head = load_head(model, "mood");
  const Matrix<double> expected = head_probabilities(
      head.settings(),
      Predictor(encoder, head)
          .predict({"hello world", "", "the quick brown fox"}, {}, {}, silent_events()));
  std::istringstream lines(outcome.out);
  std::string line;
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    const auto json = nlohmann::ordered_json::parse(line);
    int64_t best = 0, class_number = 0;
    for (const auto& [name, probability] : json["probabilities"].items()) {
      EXPECT_EQ(name, head.settings().class_names[static_cast<size_t>(class_number)]);
      EXPECT_EQ(probability.get<double>(), expected.at(i, class_number));
      if (expected.at(i, class_number) > expected.at(i, best)) best = class_number;
      ++class_number;
    }
    EXPECT_EQ(json["label"], head.settings().class_names[static_cast<size_t>(best)]);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(PredictTest, ATextUnlikeEveryClassHasNone) {
  EXPECT_THAT(predict("--head mood --input texts.txt").out, Not(HasSubstr("similarity")));
  expect_error("--head mood --input texts.txt --minimum-similarity 0.5", 2,
               "keeps no similarities");
  const SentenceEncoder encoder = SentenceEncoder::load(path("model"), silent_events());
  EncodeOptions raw;
  raw.normalize = false;
  const auto vectors = [&](const std::vector<std::string>& texts) {
    return encoder.encode(texts, raw, silent_events());
  };
  ClassScope scope =
      choose_class_scope(vectors({"hello world", "quick"}), {0, 2}, vectors({"hello world"}));
  EXPECT_NEAR(scope.minimum_similarity, 1, 1e-6);
  scope.minimum_similarity -= 1e-6;
  write_class_scope(path("model"), "mood", scope);
  const Head head = load_head(open_model_folder(path("model"), silent_events()), "mood");
  EXPECT_EQ(head.scope->means, scope.means);
  EXPECT_EQ(head.scope->minimum_similarity, scope.minimum_similarity);
  for (const Head& each : load_heads(open_model_folder(path("model"), silent_events()))) {
    EXPECT_EQ(each.scope.has_value(), each.settings().name == "mood") << each.settings().name;
  }

  const std::vector<double> similar =
      scope.similarities(vectors({"hello world", "", "the quick brown fox"}));
  ASSERT_LT(similar[2], scope.minimum_similarity);
  const auto lines_with = [&](const std::string& arguments) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(predict("--head mood --input texts.txt" + arguments).out);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const auto chosen = lines_with(""), all = lines_with(" --minimum-similarity -1"),
             none = lines_with(" --minimum-similarity 1");
  ASSERT_EQ(chosen.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(chosen[i]["similarity"].get<double>(), similar[i]) << i;
    EXPECT_TRUE(all[i]["label"].is_string()) << i;
    EXPECT_EQ(chosen[i]["label"].is_null(), similar[i] < scope.minimum_similarity) << i;
    EXPECT_EQ(chosen[i]["probabilities"], all[i]["probabilities"]) << i;
  }
  EXPECT_EQ(chosen[0]["label"], all[0]["label"]);
  EXPECT_TRUE(none[2]["label"].is_null());

  write("model/heads/mood/scope.json", R"({"minimum_similarity": 0.5, "means": [[1, 0]]})");
  expect_error("--head mood --input texts.txt", 3, "expected means of");
  write("model/heads/mood/scope.json", "{}");
  expect_error("--head mood --input texts.txt", 3, "minimum_similarity");
}

TEST_F(PredictTest, ATableIsNotTakenForTexts) {
  write("table.tsv", "text\tlabel\nhello world\tgood\n");
  expect_error("--head mood --input table.tsv", 3, "table.tsv:1: the head takes single texts");
  write("table.csv", "text,label\nhello world,good\n");
  EXPECT_THAT(predict("--head mood --input table.csv").err,
              HasSubstr("table.csv: every line is read whole"));
}

TEST_F(PredictTest, PairsAreTwoFieldsOfALineOrOfAnObject) {
  const Outcome lines = predict("--head near --input pairs.tsv");
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_THAT(lines.out, StartsWith("{\"score\":1"));  // equal texts under cosine
  EXPECT_EQ(predict("--head near --input pairs.jsonl").out, lines.out);
  EXPECT_EQ(predict("--head near < pairs.tsv").out, lines.out);
  EXPECT_THAT(predict("--head same --input pairs.tsv").out, StartsWith("{\"probability\":0."));
  const Outcome joint = predict("--head cross --input pairs.jsonl");
  EXPECT_EQ(joint.code, 0) << joint.err;
  EXPECT_THAT(joint.out, StartsWith("{\"score\":"));
}

TEST_F(PredictTest, EvaluationPredictsTheSameBits) {
  write("classes.tsv",
        "sentence\tlabel\nhello world\tgood\nquick\tbad\nthe quick brown fox\tgood\n");
  write("scores.tsv", "sentence1\tsentence2\tscore\nhello\thello\t1\nthe quick fox\tworld\t0.5\n");
  write("texts.txt", "hello world\nquick\nthe quick brown fox\n");
  const auto evaluate = [&](const std::string& arguments) {
    const Outcome outcome = predict(arguments + " --predictions p.tsv", "evaluate");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_predictions(path("p.tsv"));
  };
  const auto lines_of = [](const Outcome& outcome) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(outcome.out);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const Predictions classes = evaluate("--task classification --head mood --data classes.tsv");
  const auto moods = lines_of(predict("--head mood --input texts.txt"));
  ASSERT_EQ(moods.size(), classes.predicted.size());
  for (size_t i = 0; i < moods.size(); ++i) {
    EXPECT_EQ(moods[i]["label"], classes.predicted[i]);
    EXPECT_EQ(moods[i]["probabilities"][classes.predicted[i]].get<double>(),
              classes.probability[i]);
  }
  for (const auto& [head, key] : {std::pair("same", "probability"), std::pair("near", "score")}) {
    const Predictions scores =
        evaluate(fmt::format("--task sts --head {} --data scores.tsv", head));
    const auto pairs = lines_of(predict(fmt::format("--head {} --input pairs.tsv", head)));
    ASSERT_EQ(pairs.size(), scores.score.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(pairs[i][key].get<double>(), scores.score[i]) << head;
    }
  }
}

TEST_F(PredictTest, ManyLinesStreamInBlocks) {
  std::string many, expected;
  for (int i = 0; i < 5000; ++i) many += "hello\thello\n";
  write("many.tsv", many);
  const std::string one = predict("--head same --input pairs.tsv").out;
  for (int i = 0; i < 5000; ++i) expected += one.substr(0, one.find('\n') + 1);
  EXPECT_EQ(predict("--head same --input many.tsv --batch-tokens 999").out, expected);
}

TEST_F(PredictTest, AModelWithOneHeadNeedsNoName) {
  save_model(path("model"), {make_head("only", "linear", "single", "score")});
  const Outcome outcome = predict("--input texts.txt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
}

TEST_F(PredictTest, WhatCannotBePredictedIsSaid) {
  expect_error("--input texts.txt", 2, "name one: cross, mood, near, same");
  expect_error("--head tone --input texts.txt", 2, "it has: cross, mood, near, same");
  expect_error("--head same --input texts.txt", 3, "texts.txt:1: ");
  expect_error("--head mood --input pairs.jsonl", 3, "pairs.jsonl:1: ");
  write("broken.tsv", "a\tb\na\n");
  expect_error("--head same --input broken.tsv", 3, "broken.tsv:2: ");
  write("broken.tsv", "a\tb\na\tb\tc\n");
  expect_error("--head cross --input broken.tsv", 3, "several tabs");
  write("texts.jsonl", "{\"text\":\"a\\tb\"}\n");
  expect_error("--head same --input texts.jsonl", 3, "no 'pair'");
  expect_error("--head mood --input texts.txt --json", 2, "--json");
  std::filesystem::remove(path("model/checksums.json"));
  write("model/heads/mood/config.json", "{\"name\":\"mood\",\"sort\":\"mlp\"}");
  expect_error("--head mood --input texts.txt", 3, "heads/mood/config.json:1: unknown key 'sort'");
  save_model(path("model"), {});
  expect_error("--input texts.txt", 2, "no heads");
}

TEST_F(PredictTest, TextsThatAreTooLongAreCountedOnStderr) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat ";
  write("long.txt", text + "\ncat\n");
  EXPECT_THAT(predict("--head mood --input long.txt").err, HasSubstr("1 of 2 texts were cut"));
  write("long.txt", "cat\t" + text + "\ncat\tcat\n");
  EXPECT_THAT(predict("--head cross --input long.txt").err, HasSubstr("1 of 2 texts were cut"));
}

// Hits of a search, scored again by what `predict` gives for query and text.
TEST_F(PredictTest, HitsAreRankedAgainByAJointHead) {
  write("c.tsv", "id\ttext\na\thello world\nb\tthe quick fox\nc\tthe world\nd\ta lazy dog\n");
  write("together.tsv",
        "hello fox\thello world\nhello fox\tthe quick fox\nhello fox\tthe world\n"
        "hello fox\ta lazy dog\n");
  ASSERT_EQ(shell("simile index build --quiet --model model --index i --corpus c.tsv").code, 0);
  const Outcome predicted = predict("--head cross --input together.tsv --quiet");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  std::map<std::string, double> scores;
  std::istringstream lines(predicted.out);
  std::string line;
  for (const char* id : {"a", "b", "c", "d"}) {
    std::getline(lines, line);
    scores[id] = std::stod(line.substr(line.find(':') + 1));
  }
  const std::string search = "simile search --quiet --index i --query 'hello fox' ";
  const Outcome plain = shell(search + "--format trec --mode vector");
  const Outcome outcome = shell(search + "--format trec --mode vector --rerank model");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream run(outcome.out);
  std::string query, q0, document, tag;
  double score = 0, before = 1e9;
  int rank = 0;
  while (run >> query >> q0 >> document >> rank >> score >> tag) {
    EXPECT_EQ(static_cast<float>(score), static_cast<float>(scores.at(document))) << document;
    EXPECT_LE(score, before);
    before = score;
  }
  EXPECT_EQ(rank, 4);
  EXPECT_NE(plain.out, outcome.out);
  EXPECT_THAT(shell(search + "--json --top-k 1 --rerank model --rerank-hits 2").out,
              HasSubstr("\"search_score\":"));
  ShellTest::expect_error(search + "--rerank $M", 3, "cannot re-rank");
  ShellTest::expect_error(search + "--rerank model --rerank-hits 3", 2,
                          "--rerank-hits 3: 10 hits are to be shown");
  ShellTest::expect_error(search + "--rerank-hits 3", 2, "--rerank-hits is for --rerank");
}

}  // namespace
}  // namespace simile
