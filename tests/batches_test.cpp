// SPDX-License-Identifier: Apache-2.0
// `simile batches` as a user runs it.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class BatchesTest : public ShellTest {
 protected:
  BatchesTest() {
    std::string pairs = "sentence1\tsentence2\tscore\n";
    for (int i = 0; i < 10; ++i) {
      pairs += fmt::format("the fox {}\thello world {}\t{}\n", i, i, i % 2);
    }
    write("pairs.tsv", pairs);
    write("recipe.yaml", fmt::format(R"(
name: listed
model: {}
stages:
  - name: first
    objectives:
      - {{name: one, data: {{path: pairs.tsv}}, loss: bsc, batch_size: 4}}
      - {{name: two, data: {{path: pairs.tsv, limit: 3}}, loss: mse, batch_size: 2}}
  - name: second
    objectives: {{data: {{path: pairs.tsv}}, loss: bsc, order: neighbours, batch_size: 4}}
)",
                                     SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"));
  }

  static std::string line(const std::string& arguments) {
    return "simile batches recipe.yaml " + arguments;
  }
  Outcome batches(const std::string& arguments) const { return shell(line(arguments)); }
  void expect_error(const std::string& arguments, int code, const std::string& message) const {
    ShellTest::expect_error(line(arguments), code, message);
  }
};

#ifdef SIMILE_WITH_TRAINING

// The numbers of a text of lines, sorted.
std::vector<int> numbers_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<int> numbers;
  for (int number; in >> number;) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST_F(BatchesTest, PrintsABatchALine) {
  const Outcome first = batches("");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), '\n'), 3);
  EXPECT_EQ(numbers_of(first.out), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(batches("--threads 1").out, first.out);
  EXPECT_NE(batches("--epoch 2").out, first.out);
  EXPECT_NE(batches("seed=2").out, first.out);
  EXPECT_EQ(batches("stages.0.objectives.0.order=sequential --limit 2").out, "0 1 2 3\n4 5 6 7\n");
}

TEST_F(BatchesTest, ChoosesStageAndObjective) {
  EXPECT_EQ(numbers_of(batches("--objective two").out), (std::vector<int>{0, 1, 2}));
  const Outcome named = batches("--stage second --epoch 3");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(numbers_of(named.out).size(), 10u);
  EXPECT_EQ(batches("--stage 1 --epoch 3").out, named.out);
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(BatchesTest, PrintsTextsAndOneJsonDocument) {
  const std::string in_order = "stages.0.objectives.0.order=sequential ";
  const Outcome texts = batches(in_order + "--texts");
  EXPECT_THAT(texts.out, StartsWith("batch\texample\tscore\tleft\tright\n"
                                    "0\t0\t0\tthe fox 0\thello world 0\n"
                                    "0\t1\t1\tthe fox 1\thello world 1\n"));
  EXPECT_THAT(texts.out, HasSubstr("\n2\t9\t1\tthe fox 9\thello world 9\n"));
  const auto json = nlohmann::json::parse(batches(in_order + "--json --limit 1 --epoch 4").out);
  EXPECT_EQ(json["stage"], "first");
  EXPECT_EQ(json["objective"], "one");
  EXPECT_EQ(json["order"], "sequential");
  EXPECT_EQ(json["epoch"], 4);
  EXPECT_EQ(json["examples"], 10);
  EXPECT_EQ(json["batches_in_epoch"], 3);
  EXPECT_EQ(json["batches"], nlohmann::json::parse("[[0,1,2,3]]"));
  const auto with_texts = nlohmann::json::parse(batches(in_order + "--json --texts").out);
  EXPECT_EQ(with_texts["batches"][0][1]["left"], "the fox 1");
  EXPECT_EQ(with_texts["batches"][0][1]["example"], 1);
}

TEST_F(BatchesTest, MistakesSayWhatToChange) {
  expect_error("--stage third", 2, "no stage 'third'; the recipe has: first, second");
  expect_error("--objective three", 2, "the recipe has: one, two");
  expect_error("--epoch 0", 2, "from 1");
  expect_error("stages.0.objectives.0.order.shingle=2", 2,
               "the order random does not take: shingle");
  expect_error("stages.0.objectives.0.data.path=nowhere.tsv", 3, "nowhere.tsv");
}

#else

TEST_F(BatchesTest, NeedsTheProgramThatTrains) { expect_error("", 2, "cannot train"); }

#endif

}  // namespace
}  // namespace simile
