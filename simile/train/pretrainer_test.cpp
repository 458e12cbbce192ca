// SPDX-License-Identifier: Apache-2.0
// Whole runs on made-up text: what a user may rely on of `simile pretrain`.
#include "simile/train/pretrainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/threads.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/train/masked_batches.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Interrupter : public EventSink {
 public:
  explicit Interrupter(int reports) : left_(reports) {}
  void progress(const Progress& progress) override {
    if (progress.unit == "steps" && --left_ == 0) {
      throw Error(ErrorKind::kInterrupted, "told to stop");
    }
  }

 private:
  int left_;
};

class PretrainerTest : public ::testing::Test {
 protected:
  PretrainerTest()
      : folder_(fmt::format("{}simile_pretrainer_test_{}_{}", ::testing::TempDir(), getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    make_folders(folder_);
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n##s\n";
    for (int i = 0; i < 12; ++i) vocabulary += fmt::format("w{}\n", i);
    write("vocab.txt", vocabulary);
    write("a.txt", sentences(0, 150));
    write("b.txt", sentences(150, 200));
    write("dev.txt", sentences(200, 240));
    write("recipe.yaml", R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
corpus: [a.txt, b.txt]
shuffle_buffer: 20
max_length: 8
batch_tokens: 64
accumulation: 2
steps: 12
hidden_dropout: 0.1
learning_rate: 1e-2
held_out: {path: dev.txt, every_steps: 5}
)");
  }
  ~PretrainerTest() override { std::filesystem::remove_all(folder_); }

  // Each word is followed by its successor: easy to guess.
  static std::string sentences(int begin, int end) {
    std::string text;
    for (int i = begin; i < end; ++i) {
      for (int j = 0; j < 3 + i % 9; ++j)
        text += fmt::format("w{}{} ", (i + j) % 12, i % 4 ? "" : "s");
      text += "\n";
    }
    return text;
  }

  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(path(name), text);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }

  TrainResult run(const std::string& folder, bool resume = false,
                  const std::vector<std::string>& overrides = {},
                  EventSink& events = silent_events()) const {
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return pretrain(node, path(folder), resume, !resume, events);
  }

  std::string error_of(const std::vector<std::string>& overrides, bool resume = false) const {
    try {
      run(resume ? "run" : "bad", resume, overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string folder_;
};

TEST_F(PretrainerTest, LearnsToGuessWordsAndLeavesAModelThatPassesItsSelfTest) {
  const TrainResult result = run("run", false, {"steps=150"});
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_GT(result.reports[0].metric("masked_accuracy"), 0.2);  // by chance 0.08
  EXPECT_LT(result.reports[0].metric("perplexity"), 10);
  const SentenceEncoder encoder = SentenceEncoder::load(result.model_path, silent_events());
  const auto difference = check_self_test(result.model_path, encoder);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(*difference, 0);
  EXPECT_THAT(bytes("run/model/README.md"), HasSubstr("a.txt: 150 texts"));
}

TEST_F(PretrainerTest, EndsWithTheSameBitsOnOneThreadAndAfterInterruptions) {
  run("run");
  const int threads = thread_count();
  set_thread_count(1);
  run("single");
  set_thread_count(threads);
  for (const int stop : {1, 5, 7, 11}) {
    Interrupter events(stop);
    EXPECT_THROW(run("stopped", false, {}, events), Error);
    run("stopped", true);
    EXPECT_EQ(bytes("stopped/state.safetensors"), bytes("run/state.safetensors")) << stop;
    EXPECT_EQ(bytes("stopped/metrics.jsonl"), bytes("run/metrics.jsonl")) << stop;
  }
  EXPECT_EQ(bytes("single/state.safetensors"), bytes("run/state.safetensors"));
}

TEST_F(PretrainerTest, GoesOnFromAModelThatItMade) {
  run("run");
  const TrainResult result =
      run("more", false, {"model=" + path("run/model"), "architecture.layers=0", "tokenizer="});
  EXPECT_EQ(result.reports.size(), 1u);
}

TEST_F(PretrainerTest, OneEpochReadsEveryTextOnce) {
  const TrainResult result = run("run", false, {"steps=0", "accumulation=1", "held_out.path="});
  EXPECT_TRUE(result.reports.empty());
  // 200 texts of 3 to 11 words, some words of two tokens, in batches of 64 tokens or a little more.
  const std::string log = bytes("run/metrics.jsonl");
  const auto steps = std::count(log.begin(), log.end(), '\n');
  EXPECT_GT(steps, 20);
  EXPECT_LT(steps, 45);
}

TEST_F(PretrainerTest, MistakesAreToldBeforeAnyWork) {
  EXPECT_THAT(error_of({"corpus=" + path("none.txt")}), HasSubstr("none.txt"));
  write("empty.txt", "\n");
  EXPECT_THAT(error_of({"corpus=" + path("empty.txt")}), HasSubstr("no text"));
  write("small.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  EXPECT_THAT(error_of({"tokenizer=" + path("small.txt")}), HasSubstr("special ones"));
  write("maskless.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nw1\n");
  EXPECT_THAT(error_of({"tokenizer=" + path("maskless.txt")}), HasSubstr("mask"));
  EXPECT_THAT(error_of({"max_length=17"}), HasSubstr("positions"));
  EXPECT_THAT(error_of({"corpus="}), HasSubstr("corpus"));
  EXPECT_THAT(error_of({"held_out.path=" + path("empty.txt")}), HasSubstr("no text"));
  EXPECT_FALSE(file_exists(path("bad/run.json")));
}

TEST_F(PretrainerTest, AResumeWithAnotherCorpusOrArchitectureIsRefused) {
  Interrupter events(3);
  EXPECT_THROW(run("run", false, {}, events), Error);
  EXPECT_THAT(error_of({"architecture.layers=3"}, true), HasSubstr("another recipe"));
  write("a.txt", sentences(0, 149));
  EXPECT_THAT(error_of({}, true), HasSubstr("corpus is not the one"));
}

TEST_F(PretrainerTest, LongTextsAreCutIntoWindowsBetweenSpecialTokens) {
  const Tokenizer tokenizer = Tokenizer::load(path("vocab.txt"));
  PackedBatch batch;
  pack_windows(tokenizer, "w0 w1 w2 w3 w4", 4, batch);
  pack_windows(tokenizer, "", 4, batch);
  EXPECT_THAT(batch.offsets, ElementsAre(0, 4, 8, 11));
  EXPECT_THAT(batch.ids, ElementsAre(2, 6, 7, 3, 2, 8, 9, 3, 2, 10, 3));
}

}  // namespace
}  // namespace simile
