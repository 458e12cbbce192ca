// SPDX-License-Identifier: Apache-2.0
#include "simile/train/token_teacher.h"

#include <gmock/gmock.h>
#include <torch/types.h>

#include "simile/train/detail/run_test.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSmallModel = R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0
attention_dropout: 0
)";

constexpr const char* kPlainTeacher = R"(
stages: {objectives: {data: {path: train.tsv, score_scale: 5}, batch_size: 16, loss: mse}, epochs: 1}
)";

class TokenTeacherTest : public testing::RunTest {
 protected:
  TokenTeacherTest() { run(kPlainTeacher, "teacher"); }

  void run(const std::string& stages, const std::string& folder,
           const std::vector<std::string>& overrides = {}) {
    write(folder + ".yaml", kSmallModel + stages);
    ConfigNode recipe = load_config(path(folder + ".yaml"));
    for (const std::string& assignment : overrides) apply_override(recipe, assignment);
    train(recipe, path(folder), false, false, silent_events());
  }

  std::string student(double tokens) const {
    return fmt::format(R"(
seed: 2
stages:
  objectives:
    data: {{path: train.tsv, left: sentence1, right: sentence2, score: ""}}
    loss: {{name: distill, distance: cosine}}
    teachers: [{}]
    teacher_tokens: {}
    batch_size: 16
  epochs: 8
  learning_rate: 1e-2
)",
                       path("teacher/model"), tokens);
  }

  std::string error_of(const std::vector<std::string>& overrides) {
    try {
      run(student(1), "wrong", overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  // The teacher's tokenizer with its words in the opposite order, and `more` behind them.
  Tokenizer turned(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (int i = 39; i >= 0; --i) tokens.push_back(fmt::format("w{}", i));
    tokens.insert(tokens.end(), more.begin(), more.end());
    return Tokenizer::from_vocabulary(tokens, {}, "turned");
  }
};

TEST_F(TokenTeacherTest, ComparesEachTokensStateWithTheTeachersOfTheSameToken) {
  const SentenceEncoder teacher = SentenceEncoder::load(path("teacher/model"), silent_events());
  const TokenTeacher tokens(path("teacher/model"), "fp32", turned(), teacher.settings(),
                            silent_events());
  PackedBatch own = {{2, 5, 6, 7, 3, 2, 44, 3}, {}, {0, 5, 8}};
  PackedBatch taught = {{2, 44, 43, 42, 3, 2, 5, 3}, {}, {0, 5, 8}};
  const std::vector<float> states = teacher.hidden_states(taught);
  torch::Tensor hidden = torch::tensor(states).view({8, 16});
  EXPECT_NEAR(tokens.loss(hidden, own).item<double>(), 0, 1e-6);
  EXPECT_NEAR(tokens.loss(-hidden, own).item<double>(), 2, 1e-6);

  torch::manual_seed(1);
  hidden = torch::randn({8, 16}).requires_grad_(true);
  const torch::Tensor loss = tokens.loss(hidden, own);
  double expected = 0;
  for (int64_t t = 0; t < 8; ++t) {
    double product = 0, one = 0, other = 0;
    for (int64_t j = 0; j < 16; ++j) {
      const double h = hidden[t][j].item<double>(), a = states[static_cast<size_t>(t * 16 + j)];
      product += h * a, one += h * h, other += a * a;
    }
    expected += (1 - product / std::sqrt(one * other)) / 8;
  }
  EXPECT_NEAR(loss.item<double>(), expected, 1e-6);
  loss.backward();
  EXPECT_NEAR((hidden.grad() * hidden).sum().item<double>(), 0, 1e-6);  // cosines know no lengths
  EXPECT_GT(hidden.grad().abs().sum().item<double>(), 0);
}

TEST_F(TokenTeacherTest, AStudentThatIsItsTeacherHasNothingToLearnFromTokens) {
  const std::vector<std::string> same = {
      "architecture=", "tokenizer=", "model=" + path("teacher/model")};
  run(student(1), "with", same);
  run(student(0), "without", same);
  EXPECT_NEAR(logged("with", "loss").front(), logged("without", "loss").front(), 1e-5);
}

TEST_F(TokenTeacherTest, ARunLearnsFromTokensAndGoesOnWithTheSameBits) {
  run(student(1), "whole");
  const std::vector<double> losses = logged("whole", "loss");
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  run(student(0), "plain");
  EXPECT_GT(losses.front(), logged("plain", "loss").front() + 0.1);

  write("halved.yaml", kSmallModel + student(1) + "save_every_minutes: 0\n");
  const ConfigNode recipe = load_config(path("halved.yaml"));
  testing::Interrupter interrupter(6);
  EXPECT_THROW(train(recipe, path("halved"), false, false, interrupter), Error);
  train(recipe, path("halved"), true, false, silent_events());
  EXPECT_EQ(logged("halved", "loss"), losses);
}

TEST_F(TokenTeacherTest, TellsWhatDoesNotGoTogether) {
  EXPECT_THAT(error_of({"architecture.hidden=8", "architecture.intermediate=16",
                        "stages.0.objectives.0.loss.distance=scores"}),
              HasSubstr("hidden states of one size"));
  EXPECT_THAT(error_of({"stages.0.objectives.0.chunk_tokens=8"}),
              HasSubstr("takes a batch at once"));
  EXPECT_THAT(error_of({"stages.0.objectives.0.teachers=[]", "stages.0.objectives.0.loss=mnrl"}),
              HasSubstr("without `teachers`"));
  const ModelSettings settings =
      SentenceEncoder::load(path("teacher/model"), silent_events()).settings();
  try {
    TokenTeacher(path("teacher/model"), "fp32", turned({"new"}), settings, silent_events());
    FAIL() << "a token that the teacher does not have";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no token 'new'"));
  }
}

}  // namespace
}  // namespace simile
