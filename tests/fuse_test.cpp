// SPDX-License-Identifier: Apache-2.0
// `simile fuse` and `simile distill` as a user runs them.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/model/encoder_tensors.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The differences between the models of these tests.
struct Odd {
  uint64_t seed = 1;
  int64_t hidden = 16;
  int64_t max_length = 64;
  bool with_head = false;
  PoolingMode pooling = PoolingMode::kMean;
};

class FuseTest : public ShellTest {
 protected:
  FuseTest() {
    write("pairs.tsv",
          "sentence1\tsentence2\tscore\nthe cat\ta cat\t5\nthe dog ran\ta red mat\t1\n"
          "a mat\tthe mat\t4\nthe red dog\tthe cat ran\t2\n");
    write("dev.yaml", "tasks: {name: dev, task: sts, data: pairs.tsv, score_scale: 5}\n");
    write("texts.txt", "the cat ran\na red mat\nthe dog\nthe red cat\na dog ran\nthe mat\n");
  }

  void save_table(const std::string& name, const Odd& odd = {}) const {
    ModelToSave model;
    model.settings.encoder = static_encoder_config(30, odd.hidden, "test");
    model.settings.pooling.modes.clear();
    model.settings.max_length = odd.max_length;
    save(name, odd, model);
  }

  void save_bert(const std::string& name, const Odd& odd = {}) const {
    ModelToSave model;
    model.settings =
        open_model_folder(SIMILE_SOURCE_DIR "/tests/golden/tiny-bert", silent_events()).settings;
    model.settings.pooling = odd.pooling;
    save(name, odd, model);
  }

  nlohmann::json json(const std::string& line) const {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

 private:
  void save(const std::string& name, const Odd& odd, ModelToSave& model) const {
    const EncoderConfig& config = model.settings.encoder;
    std::vector<float> weights(static_cast<size_t>(encoder_parameter_count(config.shape())));
    initialise_encoder_weights(config, odd.seed, weights.data());
    model.weights = weights.data();
    model.tokenizer = read_tokenizer_files(SIMILE_SOURCE_DIR "/tests/golden/tiny-bert");
    HeadSettings head;
    head.name = "judge";
    std::vector<float> numbers(
        static_cast<size_t>(head_parameter_count(head, model.settings.embedding_size())));
    initialise_head_weights(head, model.settings.embedding_size(), odd.seed, numbers.data());
    if (odd.with_head) model.heads.push_back({head, numbers.data()});
    save_model_folder(path(name), model);
  }
};

TEST_F(FuseTest, TheMeanOfAModelWithItselfIsThatModel) {
  save_table("table", {1, 16, 64, true});
  save_bert("bert", {2, 16, 64, true});
  for (const std::string model : {"table", "bert"}) {
    const Outcome fused = shell("simile fuse " + model + " " + model + " " + model + " --out soup");
    ASSERT_EQ(fused.code, 0) << fused.err;
    EXPECT_THAT(fused.out, HasSubstr("share 0.3333"));
    EXPECT_EQ(json("simile check --model soup --json")["fingerprint"],
              json("simile check --model " + model + " --json")["fingerprint"]);
    const std::string heads = "/heads/judge/model.safetensors";
    EXPECT_EQ(read_file(path("soup" + heads)), read_file(path(model + heads)));
  }
}

// Which texts belong to none of a head's classes was measured on other vectors than the mean's.
TEST_F(FuseTest, SaysThatAHeadLosesItsBoundOfNoClass) {
  save_table("a", {1, 16, 64, true});
  const Outcome without = shell("simile fuse a a --out soup");
  EXPECT_EQ(without.err.find("warning"), std::string::npos) << without.err;
  write("a/heads/judge/scope.json",
        R"({"minimum_similarity": 0.5, "means": [[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]})");
  const Outcome fused = shell("rm a/checksums.json; simile fuse a a --out bounded");
  EXPECT_EQ(fused.code, 0) << fused.err;
  EXPECT_THAT(fused.err, HasSubstr("the head 'judge' will give every text a class"));
  EXPECT_FALSE(file_exists(path("bounded/heads/judge/scope.json")));
}

TEST_F(FuseTest, WeighsAndTellsWhatItIsMadeOf) {
  save_table("a", {1});
  save_table("b", {2});
  const nlohmann::json report = json("simile fuse a b --weights 3,1 --out soup --json");
  EXPECT_EQ(report["parts"][0]["share"], 0.75);
  EXPECT_EQ(report["parts"][1]["model"], "b");
  EXPECT_EQ(report["parts"][1]["fingerprint"].get<std::string>().size(), 32u);
  const std::string card = read_file(path("soup/README.md"));
  EXPECT_THAT(card, AllOf(HasSubstr("base_model:\n- \"a\"\n- \"b\""), HasSubstr("| a | 0.75 |")));
  EXPECT_EQ(shell("simile check --model soup").code, 0);
}

TEST_F(FuseTest, RefusesModelsThatDoNotFit) {
  save_table("table");
  save_table("wide", {1, 32});
  save_table("short", {1, 16, 32});
  save_table("judged", {1, 16, 64, true});
  save_bert("bert");
  save_bert("cls", {1, 16, 64, false, PoolingMode::kCls});
  const auto refuses = [&](const std::string& arguments, int code, const std::string& message) {
    expect_error("simile fuse " + arguments + " --out soup", code, message);
  };
  refuses("table", 2, "1 model to average; give at least two");
  refuses("table nowhere", 3, "'nowhere' is neither a path");
  refuses("table bert", 3, "the architecture is static in the first and bert in the second");
  refuses("table wide", 3, "the hidden size is 16 in the first and 32 in the second");
  refuses("table short", 3, "the longest text is 64 in the first and 32 in the second");
  refuses("table judged", 3, "the number of task heads is 0 in the first and 1 in the second");
  refuses("bert cls", 3, "the pooling is 'mean' in the first and 'cls' in the second");
  shell(
      "cp -r bert other; cd other; rm checksums.json self_test.json; sed -i 's/^mat$/hat/' "
      "vocab.txt");
  refuses("bert other", 3, "their tokenizers, and so their words, differ");
  refuses("table table --weights 1", 2, "2 models and 1 weights");
  refuses("table table --weights 1,0", 2, "the weight of 'table' is 0");
  expect_error("simile fuse table bert --out table", 3, "cannot be averaged");
  expect_error("simile fuse table table --out table", 2, "would be replaced");
}

#ifdef SIMILE_WITH_TRAINING

class DistillSlow : public FuseTest {};

TEST_F(DistillSlow, DistillsIntoATableOrFewerLayers) {
  save_table("table", {1, 8});
  const nlohmann::json table = json(
      "simile distill --teacher table --data texts.txt --out t --dims 4 --epochs 1 --test dev.yaml "
      "--quiet --json");
  ASSERT_EQ(table["reports"].size(), 4u);  // student, its start, reduced, teacher
  EXPECT_EQ(json("simile check --model t/reduced --json")["dimension"], 4);
  const Outcome layers = shell(
      "simile distill --teacher $M --student 1 --data pairs.tsv --columns sentence1,sentence2 "
      "--out l --epochs 1");
  EXPECT_EQ(layers.code, 0) << layers.err;
  EXPECT_EQ(json("simile check --model l/model --json")["layers"], 1);
  EXPECT_EQ(shell("simile check --model l/start").code, 0);
  // The recipe is one as any other.
  EXPECT_THAT(read_file(path("l/recipe.yaml")), HasSubstr("distance: cosine"));
  EXPECT_EQ(shell("simile train l/recipe.yaml stages.epochs=2 --output again").code, 0);
  EXPECT_EQ(shell("simile distill --teacher $M --student l/model --data texts.txt --out d "
                  "--epochs 1 --learning-rate 1e-3")
                .code,
            0);
  ASSERT_EQ(shell("simile distill --teacher $M --student t/reduced --data texts.txt --out s "
                  "--epochs 1")
                .code,
            0);
  EXPECT_THAT(read_file(path("s/recipe.yaml")), HasSubstr("distance: scores"));
}

TEST_F(DistillSlow, DistillsALastBatchOfOneText) {
  std::string text;
  for (int i = 0; i < 65; ++i) text += "the cat " + std::to_string(i) + "\n";
  write("many.txt", text);
  const Outcome outcome = shell("simile distill --teacher $M --data many.txt --out t --epochs 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(DistillSlow, RefusesStudentsThatCannotBe) {
  save_table("table");
  const auto refuses = [&](const std::string& arguments, int code, const std::string& message) {
    expect_error("simile distill " + arguments + " --out d", code, message);
  };
  refuses("--teacher $M --data nowhere.txt", 3, "cannot open 'nowhere.txt'");
  refuses("--teacher nowhere --data texts.txt", 3, "'nowhere' is neither a path");
  refuses("--teacher $M --data pairs.tsv", 2, "name the one or two columns");
  refuses("--teacher $M --data pairs.tsv --columns a,b", 3, "a");
  refuses("--teacher $M --data texts.txt --student 9", 2, "expected at least 1 and not all");
  refuses("--teacher $M --data texts.txt --student 0", 2, "at least 1");
  refuses("--teacher table --data texts.txt --student 1", 2, "has no layers");
  refuses("--teacher $M --data texts.txt --student nowhere", 3, "'nowhere' is neither a path");
  refuses("--teacher $M --data texts.txt --student 1 --dims 8", 2, "goes with --student static");
  refuses("--teacher $M --data texts.txt --dims 4096", 2, "4096 dimensions are asked for");
  refuses("--teacher $M --data texts.txt --test pairs.tsv", 2, "is not a task file");
  write("d/recipe.yaml", "name: mine\n");
  refuses("--teacher $M --data texts.txt --epochs 1", 2, "'d' has a recipe.yaml");
  std::filesystem::remove(path("d/recipe.yaml"));
  ASSERT_EQ(shell("simile distill --teacher $M --data texts.txt --out d --epochs 1").code, 0);
  refuses("--teacher $M --data texts.txt", 2, "'d' holds a run");
  EXPECT_EQ(
      shell("simile distill --teacher $M --data texts.txt --out d --epochs 1 --overwrite").code, 0);
}

TEST_F(DistillSlow, AStoppedRunGoesOnToTheSameReducedModelWhichAnotherRunRemoves) {
  save_table("table", {1, 8});
  const std::string distill =
      "\"$P\" distill --teacher table --data texts.txt --dims 4 --quiet --out ";
  const Outcome whole = shell(distill + "whole --epochs 200");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Outcome cut = shell(distill +
                            "cut --epochs 200 & child=$!; while [ ! -s cut/metrics.jsonl ] && kill "
                            "-0 $child; do sleep 0.01; "
                            "done; kill -TERM $child; wait $child");
  EXPECT_EQ(cut.code, 143) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("add --resume to go on"));
  EXPECT_EQ(shell(distill + "cut --epochs 200 --resume").code, 0);
  const std::string recipe = read_file(path("cut/recipe.yaml"));
  const Outcome other = shell(distill + "cut --resume --epochs 9");
  EXPECT_EQ(other.code, 2) << other.err;
  EXPECT_EQ(read_file(path("cut/recipe.yaml")), recipe);
  const Outcome same = shell(
      "cd whole/reduced && find . -type f ! -name README.md | while read f; do "
      "cmp \"$f\" \"../../cut/reduced/$f\" || exit 1; done");
  EXPECT_EQ(same.code, 0) << same.out;
  ASSERT_EQ(
      shell("simile distill --teacher table --data texts.txt --epochs 1 --out cut --overwrite")
          .code,
      0);
  EXPECT_FALSE(folder_exists(path("cut/reduced")));
}

#endif

}  // namespace
}  // namespace simile
