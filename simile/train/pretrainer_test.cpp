// SPDX-License-Identifier: Apache-2.0
// Whole runs on made-up text: what a user may rely on of `simile pretrain`.
#include "simile/train/pretrainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/train/masked_batches.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepInterrupter : public EventSink {
 public:
  explicit StepInterrupter(int reports) : left_(reports) {}
  void progress(const Progress& progress) override {
    if (progress.unit == "steps" && --left_ == 0) {
      throw Error(ErrorKind::kInterrupted, "told to stop");
    }
  }

 private:
  int left_;
};

void add_sequences(const PackedBatch& batch, std::vector<std::vector<int32_t>>& sequences) {
  for (int64_t i = 0; i < batch.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    sequences.emplace_back(batch.ids.begin() + batch.offsets[at],
                           batch.ids.begin() + batch.offsets[at + 1]);
  }
}

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

  // The bytes of the newest saved state.
  std::string last_state(const std::string& run) const {
    std::set<std::string> states;
    for (const auto& entry : std::filesystem::directory_iterator(path(run + "/states"))) {
      states.insert(entry.path());
    }
    return read_file(*states.rbegin());
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
    StepInterrupter events(stop);
    EXPECT_THROW(run("stopped", false, {}, events), Error);
    run("stopped", true);
    EXPECT_EQ(last_state("stopped"), last_state("run")) << stop;
    EXPECT_EQ(bytes("stopped/metrics.jsonl"), bytes("run/metrics.jsonl")) << stop;
  }
  EXPECT_EQ(last_state("single"), last_state("run"));
  const std::string log = bytes("run/metrics.jsonl"), state = last_state("run");
  run("run", true);  // there is nothing left to do
  EXPECT_EQ(bytes("run/metrics.jsonl"), log);
  EXPECT_EQ(last_state("run"), state);
}

TEST_F(PretrainerTest, TheTorchEngineHasTheSameCurveAndResumesToTheSameBits) {
  const std::vector<std::string> torch = {"engine=torch"};
  run("fused");
  run("torch", false, torch);
  std::istringstream fused(bytes("fused/metrics.jsonl")), plain(bytes("torch/metrics.jsonl"));
  for (std::string expected, found; std::getline(fused, expected);) {
    ASSERT_TRUE(std::getline(plain, found));
    const auto want = nlohmann::json::parse(expected), got = nlohmann::json::parse(found);
    for (const char* name : {"loss", "gradient_norm"}) {
      EXPECT_NEAR(got.value(name, 0.0), want.value(name, 0.0), 1e-4) << expected;
    }
  }
  StepInterrupter events(7);
  EXPECT_THROW(run("stopped", false, torch, events), Error);
  run("stopped", true, torch);
  EXPECT_EQ(last_state("stopped"), last_state("torch"));
  EXPECT_EQ(bytes("stopped/metrics.jsonl"), bytes("torch/metrics.jsonl"));
}

TEST_F(PretrainerTest, InBfloat16TheCurveIsNearlyTheSameAndResumesToTheSameBits) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: no bfloat16 on this processor";
  const std::vector<std::string> rounded = {"compute=bf16"};
  run("exact");
  run("rounded", false, rounded);
  EXPECT_NE(last_state("rounded"), last_state("exact"));
  std::istringstream exact(bytes("exact/metrics.jsonl")), near(bytes("rounded/metrics.jsonl"));
  for (std::string expected, found; std::getline(exact, expected);) {
    ASSERT_TRUE(std::getline(near, found));
    const auto want = nlohmann::json::parse(expected), got = nlohmann::json::parse(found);
    EXPECT_NEAR(got.value("loss", 0.0), want.value("loss", 0.0), 0.02) << expected;
  }
  const int threads = thread_count();
  set_thread_count(threads == 1 ? 3 : 1);
  StepInterrupter events(7);
  EXPECT_THROW(run("stopped", false, rounded, events), Error);
  run("stopped", true, rounded);
  set_thread_count(threads);
  EXPECT_EQ(last_state("stopped"), last_state("rounded"));
  EXPECT_EQ(bytes("stopped/metrics.jsonl"), bytes("rounded/metrics.jsonl"));
}

TEST_F(PretrainerTest, GoesOnFromAModelThatItMade) {
  run("run");
  const std::vector<std::string> goes_on = {"model=" + path("run/model"), "architecture.layers=0",
                                            "tokenizer=", "steps=1", "learning_rate=1e-12"};
  const TrainResult result = run("more", false, goes_on);
  const auto embed = [&](const std::string& model) {
    return SentenceEncoder::load(model, silent_events()).encode({"w1 w2 w5"}, {}, silent_events());
  };
  const Matrix<float> before = embed(path("run/model")), after = embed(result.model_path);
  for (size_t i = 0; i < before.values.size(); ++i) {
    EXPECT_NEAR(after.values[i], before.values[i], 1e-5);
  }
}

TEST_F(PretrainerTest, AnEpochHasEveryWindowOfEveryTextOnce) {
  const Tokenizer tokenizer = Tokenizer::load(path("vocab.txt"));
  PretrainOptions options;
  options.max_length = 8;
  options.batch_tokens = 64;
  std::string one_line;  // a text that fills several batches
  for (int i = 0; i < 60; ++i) one_line += "w3 w4 w5 ";
  write("b.txt", sentences(150, 200) + one_line + "\n");
  const auto corpus = inspect_corpus({path("a.txt"), path("b.txt")}, silent_events());
  PackedBatch expected;
  for (const char* file : {"a.txt", "b.txt"}) {
    for (const std::string& text : read_texts(path(file)))
      pack_windows(tokenizer, text, 8, expected);
  }
  const int64_t batches = count_batches(corpus, options, tokenizer, 0, silent_events());
  MaskedBatches stream(corpus, options, tokenizer, mask_vocabulary(tokenizer), 0);
  std::vector<std::vector<int32_t>> seen, wanted;
  for (int64_t i = 0; i < batches; ++i) {
    MaskedBatch batch = stream.next(silent_events());
    EXPECT_LT(batch.tokens.tokens(), 128);
    for (int64_t j = 0; j < batch.masked.size(); ++j) {
      const auto place = static_cast<size_t>(batch.masked.positions[static_cast<size_t>(j)]);
      batch.tokens.ids[place] = batch.masked.words[static_cast<size_t>(j)];
    }
    add_sequences(batch.tokens, seen);
  }
  add_sequences(expected, wanted);
  std::sort(seen.begin(), seen.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(seen, wanted);
  // Skipped batches are those that came first; the stream may end at any time.
  MaskedBatches later(corpus, options, tokenizer, mask_vocabulary(tokenizer), batches - 1);
  MaskedBatches whole(corpus, options, tokenizer, mask_vocabulary(tokenizer), 0);
  for (int64_t i = 0; i + 1 < batches; ++i) whole.next(silent_events());
  EXPECT_EQ(later.next(silent_events()).tokens.ids, whole.next(silent_events()).tokens.ids);
  const MaskedBatches unused(corpus, options, tokenizer, mask_vocabulary(tokenizer), 1000000);
}

TEST_F(PretrainerTest, MistakesAreToldBeforeAnyWork) {
  make_folders(path("bad"));
  write("bad/metrics.jsonl", "an earlier run");
  EXPECT_THAT(error_of({"mask.random_share=0.3"}), HasSubstr("more than all"));
  EXPECT_THAT(error_of({"corpus=" + path("none.txt")}), HasSubstr("none.txt"));
  write("empty.txt", "\n");
  EXPECT_THAT(error_of({"corpus=" + path("empty.txt")}), HasSubstr("no text"));
  write("small.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  EXPECT_THAT(error_of({"tokenizer=" + path("small.txt")}), HasSubstr("special tokens alone"));
  // A vocab.txt without a mask gets one, as in transformers; a tokenizer.json is taken as it is.
  write("maskless.json", R"({"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab":
      {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "w1": 4}}})");
  EXPECT_THAT(error_of({"tokenizer=" + path("maskless.json")}), HasSubstr("mask"));
  EXPECT_THAT(error_of({"max_length=17"}), HasSubstr("positions"));
  EXPECT_THAT(error_of({"corpus="}), HasSubstr("corpus"));
  EXPECT_THAT(error_of({"optimizer.rows=used"}), HasSubstr("output matrix"));
  EXPECT_THAT(error_of({"compute=tf32", "engine=torch"}), HasSubstr("compute: tf32"));
  EXPECT_THAT(error_of({"held_out.path=" + path("empty.txt")}), HasSubstr("no text"));
  EXPECT_THAT(error_of({"held_out.path="}), HasSubstr("does nothing without `held_out.path`"));
  EXPECT_THAT(error_of({"tokenizer=" + path("small.txt"), "held_out={}"}),
              HasSubstr("special tokens alone"));
  EXPECT_EQ(bytes("bad/metrics.jsonl"), "an earlier run");
}

TEST_F(PretrainerTest, AResumeWithAnotherCorpusOrArchitectureIsRefused) {
  StepInterrupter events(3);
  EXPECT_THROW(run("run", false, {}, events), Error);
  EXPECT_THAT(error_of({"architecture.layers=3"}, true), HasSubstr("architecture.layers"));
  write("a.txt", sentences(0, 149));
  EXPECT_THAT(error_of({}, true), HasSubstr("/a.txt was "));
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
