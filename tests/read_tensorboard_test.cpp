// SPDX-License-Identifier: Apache-2.0
// tools/read_tensorboard.py, a second reader of the files that training writes for TensorBoard.
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

class ReadTensorboardTest : public ShellTest {
 protected:
  void SetUp() override {
    if (!has_program("python3")) GTEST_SKIP() << "skipped: no python3";
  }
  // Writes bytes given in hexadecimal and reads them.
  Outcome read(const std::string& hex) const {
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    write("events", bytes);
    return shell("python3 $S/tools/read_tensorboard.py events");
  }
};

// Event{wall_time: 0, file_version: "brain.Event:2"} of 24 bytes, with masked checksums 0x224b7fa3
// and 0xa328dfee, as TensorBoard writes it.
const std::string kFirst =
    "1800000000000000a37f4b22"
    "0900000000000000001a0d627261696e2e4576656e743a32"
    "eedf28a3";

TEST_F(ReadTensorboardTest, ReadsAFileWithoutScalars) {
  const Outcome outcome = read(kFirst);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ReadTensorboardTest, TellsWhatIsDamaged) {
  std::string wrong = kFirst;
  wrong[30] = wrong[30] == '0' ? '1' : '0';  // in the payload
  EXPECT_EQ(read(wrong).code, 1);
  EXPECT_THAT(read(wrong).err, HasSubstr("checksum of the payload"));
  wrong = kFirst;
  wrong[1] = '9';
  EXPECT_THAT(read(wrong).err, HasSubstr("checksum of the length"));
  const Outcome cut = read(kFirst + kFirst.substr(0, 40));
  EXPECT_EQ(cut.code, 0);
  EXPECT_THAT(cut.err, HasSubstr("byte 40: the last record is cut off"));
}

#ifdef SIMILE_WITH_TRAINING
// tag and step -> value, of metrics.jsonl with the tags that training gives them.
std::map<std::pair<std::string, int64_t>, double> expected_scalars(const std::string& log) {
  std::map<std::pair<std::string, int64_t>, double> scalars;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    const std::string prefix = json["stage"].get<std::string>() + "/";
    const int64_t step = json["step"];
    if (json.contains("evaluation")) {
      for (const auto& [name, value] : json["metrics"].items()) {
        scalars[{prefix + json["evaluation"].get<std::string>() + "." + name, step}] = value;
      }
    } else {
      scalars[{prefix + "loss", step}] = json["loss"];
      scalars[{prefix + "grad_norm", step}] = json["gradient_norm"];
      scalars[{prefix + "learning_rate", step}] = json["learning_rate"];
    }
  }
  return scalars;
}

TEST_F(ReadTensorboardTest, FindsTheNumbersOfMetricsJsonl) {
  write("pairs.tsv",
        "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\nfox\tthe fox\t4\n");
  write("recipe.yaml", R"(
architecture: {layers: 1, hidden: 32, heads: 2, intermediate: 64, positions: 32}
tokenizer: TOKENIZER
stages:
  objectives: {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}
  epochs: 3
  selection: {metric: dev.spearman, every_epochs: 1}
evaluations: {name: dev, task: sts, data: pairs.tsv}
baselines: []
)");
  const Outcome trained = shell(
      "sed -i \"s#TOKENIZER#$S/tests/golden/tiny-bert#\" recipe.yaml; "
      "simile train recipe.yaml --output run");
  ASSERT_EQ(trained.code, 0) << trained.err;
  auto expected = expected_scalars(read_file(path("run/metrics.jsonl")));
  EXPECT_GE(expected.size(), 6u * 3 + 3 * 2);
  const Outcome outcome = shell("python3 $S/tools/read_tensorboard.py run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string tag;
  int64_t step = 0;
  for (double value = 0; std::getline(lines, tag, '\t') && lines >> step >> value; lines.get()) {
    const auto found = expected.find({tag, step});
    ASSERT_NE(found, expected.end()) << tag << " " << step;
    EXPECT_EQ(static_cast<float>(value), static_cast<float>(found->second)) << tag << " " << step;
    expected.erase(found);
  }
  EXPECT_TRUE(expected.empty()) << expected.begin()->first.first;
}
#endif

}  // namespace
}  // namespace simile
