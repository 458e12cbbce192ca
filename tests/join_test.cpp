// SPDX-License-Identifier: Apache-2.0
// `simile join` as a user runs it, and what every other command makes of its model.
#include <nlohmann/json.hpp>

#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A static model with the golden model's vocabulary in `folder`.
void save_table(const std::string& folder) {
  const std::string golden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  ModelToSave model;
  model.settings.encoder = static_encoder_config(30, 16, "test");
  model.settings.pooling.modes.clear();
  model.settings.max_length = model.settings.encoder.shape().longest_sequence();
  std::vector<float> table(30 * 16);
  initialise_encoder_weights(model.settings.encoder, 1, table.data());
  model.weights = table.data();
  model.tokenizer = read_tokenizer_files(golden);
  save_model_folder(folder, model);
}

class JoinTest : public ShellTest {
 protected:
  JoinTest() {
    save_table(path("table"));
    write("pairs.tsv",
          "sentence1\tsentence2\tscore\nthe cat\ta cat\t5\nthe dog ran\ta red mat\t1\n"
          "a mat\tthe mat\t4\nthe red dog\tthe cat ran\t2\n");
    write("corpus.tsv", "id\ttext\n1\tthe cat ran\n2\ta red mat\n3\tthe dog\n");
  }

  nlohmann::json json(const std::string& line) const {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
};

TEST_F(JoinTest, MakesOneModelThatEveryCommandTakes) {
  const nlohmann::json report = json(
      "simile join --model $M --weight 0.3 --model table --weight 1 --output both --quiet --json");
  EXPECT_EQ(report["dimension"], 48);
  EXPECT_EQ(report["parts"][0]["model"], "table");
  EXPECT_EQ(report["parts"][1]["weight"], 0.3);
  const Outcome table = shell("simile join --model table --model $M --output equal");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("0_Joined/0  weight 1 "), HasSubstr("48 dimensions")));

  const nlohmann::json check = json("simile check --model both --json");
  EXPECT_EQ(check["family"], "joined");
  EXPECT_EQ(check["parts"][1]["weight"], 0.3);
  EXPECT_EQ(check["self_test_difference"], 0.0);
  EXPECT_EQ(shell("simile check --model both/0_Joined/0").code, 0);
  EXPECT_EQ(json("simile evaluate --model both --task sts --data pairs.tsv --json")["examples"], 4);
  EXPECT_EQ(shell("simile similarity --model both 'the cat' 'a cat' --precision int8").code, 0);
  EXPECT_THAT(shell("simile similarity --model table cat dog --precision int8").err,
              HasSubstr("--precision int8 changes nothing"));
  EXPECT_EQ(shell("simile index build --model both --index ix --corpus corpus.tsv").code, 0);
  EXPECT_THAT(shell("simile search --index ix --query 'the dog'").out, HasSubstr("the dog"));
  EXPECT_EQ(shell("simile convert --model both --output half --precision fp16").code, 0);
  EXPECT_EQ(shell("simile check --model half").code, 0);
#ifdef SIMILE_WITH_TRAINING
  write("train.yaml", R"(
name: trained
model: ./both
stages:
  objectives: {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}
  epochs: 2
  learning_rate: 1e-4
  static_learning_rate: 1e-2
evaluations: {name: dev, task: sts, data: pairs.tsv, score_scale: 5}
baselines: [untrained]
data_checks: warn
)");
  const Outcome train = shell("simile train train.yaml --output run");
  EXPECT_EQ(train.code, 0) << train.err;
  EXPECT_EQ(json("simile check --model run/model --json")["parts"].size(), 2u);
#endif
}

TEST_F(JoinTest, MistakesSayWhatToChange) {
  expect_error("simile join --model table --output out", 2, "at least two");
  expect_error("simile join --model table --model $M --weight 1 --output out", 2,
               "give each model a weight");
  expect_error("simile join --model table --model $M --weight 1 --weight 0 --output out", 2,
               "above 0");
  expect_error("simile join --model table --model nowhere --output out", 3, "nowhere");
  expect_error("simile join --model table --model $M --output table", 2, "would replace it");
  write("other.sh",
        "cp -r table other && rm other/checksums.json && cd other/0_StaticEmbedding && "
        "sed -i s/cat/cow/ vocab.txt tokenizer.json 2>/dev/null; true");
  EXPECT_EQ(shell("bash other.sh").code, 0);
  expect_error("simile join --model other --model $M --output out", 3, "different tokenizers");
  EXPECT_FALSE(folder_exists(path("out")));
}

TEST_F(JoinTest, ModelsThatComeWithSimileGiveTheVectorsTheyWereShippedWith) {
  for (const std::string model : {"simile-mini", "simile-mini-2"}) {
    const nlohmann::json check = json("simile check --model " + model + " --json");
    EXPECT_LT(check["self_test_difference"], 1e-5) << model;
  }
  const nlohmann::json both = json("simile check --model simile-mini-2 --json");
  EXPECT_EQ(both["dimension"], 768);
  const nlohmann::json table = json("simile check --model simile-mini-2-static --json");
  EXPECT_EQ(table["family"], "static");
  EXPECT_EQ(table["dimension"], both["parts"][0]["hidden"]);
}

}  // namespace
}  // namespace simile
