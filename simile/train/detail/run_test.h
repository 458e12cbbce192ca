// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of whole runs: a folder with a small made-up task, and ways to end a run
// before it is done.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/report/run_folder.h"
#include "simile/train/read_recipe.h"
#include "simile/train/train_options.h"
#include "simile/train/train_state.h"
#include "simile/train/trainer.h"

namespace simile {

// Reads a recipe and trains one run of it.
inline TrainResult train(const ConfigNode& recipe, const std::string& folder, bool resume,
                         bool overwrite, EventSink& events, ProcessGroup* processes = nullptr) {
  TrainOptions options = read_recipe(recipe, events);
  const std::string path = open_run(options, folder, resume, events);
  return train(options, path, {resume, overwrite, processes, false, {}}, events);
}

}  // namespace simile

namespace simile::testing {

// Stops the run at the n-th report of a training step, as a signal would.
class Interrupter : public EventSink {
 public:
  explicit Interrupter(int reports) : left_(reports) {}
  void progress(const Progress& progress) override {
    if (progress.unit == "pairs" && --left_ == 0)
      throw Error(ErrorKind::kInterrupted, "told to stop");
  }

 private:
  int left_;
};

// Ends the run at the n-th report of a training step without a word, as a power cut would; notes
// where a run resumed.
class Killer : public EventSink {
 public:
  explicit Killer(int reports) : left_(reports) {}
  void progress(const Progress& progress) override {
    if (progress.unit == "pairs" && --left_ == 0) throw Error(ErrorKind::kFailed, "cut off");
  }
  void info(const std::string& message) override {
    if (message.rfind("resuming", 0) == 0) resumed_at_ = message;
  }
  const std::string& resumed_at() const { return resumed_at_; }

 private:
  int left_;
  std::string resumed_at_;
};

// Notes what a run says.
class Listener : public EventSink {
 public:
  void info(const std::string& message) override { told.push_back(message); }
  void warning(const std::string& message) override { warned.push_back(message); }
  void progress(const Progress& progress) override {
    if (progress.unit == "pairs") values = progress.values;
  }
  std::vector<std::string> told, warned;
  std::vector<std::pair<std::string, double>> values;  // of the last step
};

// A folder of its own for each test, with a vocabulary of words w0 .. w39, train.tsv and dev.tsv.
class RunTest : public ::testing::Test {
 protected:
  RunTest()
      : folder_(fmt::format("{}simile_trainer_test_{}_{}", ::testing::TempDir(), getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    make_folders(folder_);
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 0; i < 40; ++i) vocabulary += fmt::format("w{}\n", i);
    write("vocab.txt", vocabulary);
    write("train.tsv", pairs(0, 60));
    write("dev.tsv", pairs(60, 90));
  }
  ~RunTest() override { std::filesystem::remove_all(folder_); }

  // Pairs whose score is the share of words they have in common.
  static std::string pairs(int begin, int end) {
    std::string text = "sentence1\tsentence2\tscore\n";
    for (int i = begin; i < end; ++i) {
      const int a = i * 7 % 40, b = i * 11 % 40, c = i * 13 % 40;
      const bool same = i % 3 == 0;
      text += fmt::format("w{} w{}\tw{} w{}\t{}\n", a, b, a, same ? b : c, same || b == c ? 5 : 1);
    }
    return text;
  }

  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(join_path(folder_, name), text);
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }

  // The weights of the last state: of the encoder and its heads.
  std::vector<float> weights(const std::string& run) const {
    const StateStore states(path(run + "/states"), 2);
    TrainOptions options;
    read_options(without_environment(load_config(path(run + "/run.json"))), options);
    const auto any_log = [](const LogMark&) { return true; };
    return states.load(options_to_json(options), any_log, silent_events())->weights;
  }

  // The numbers `key` of all steps of a run.
  std::vector<double> logged(const std::string& run, const std::string& key) const {
    std::vector<double> values;
    std::istringstream lines(bytes(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (json.contains(key)) values.push_back(json[key]);
    }
    return values;
  }

  void expect_equal(const std::string& one, const std::string& several) const {
    for (const char* key : {"loss", "gradient_norm"}) {
      const std::vector<double> expected = logged(one, key), found = logged(several, key);
      ASSERT_EQ(expected.size(), found.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], 1e-5 * std::max(1e-1, std::abs(expected[i])))
            << key << " of step " << i + 1;
      }
    }
    const std::vector<float> expected = weights(one), found = weights(several);
    ASSERT_EQ(expected.size(), found.size());
    double most = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(expected[i]) - found[i]));
    }
    EXPECT_LT(most, 1e-6) << "of the weights";
    RecordProperty("weights", fmt::format("{}", most));
  }

  const std::string folder_;
};

// 12 answers with two questions each, one of which occurs twice in different forms.
inline std::string questions_and_answers() {
  std::string table = "question\tanswer\n";
  for (int i = 0; i < 12; ++i) {
    table += fmt::format("w{} w{}\tw{} w{} w{}\n", i, i + 20, i, i + 1, i + 10);
    table += fmt::format("w{} w{} w{}\tw{} w{} w{}\n", i, i + 12, i + 13, i, i + 1, i + 10);
  }
  return table + "W0  w20!\tw30 w31\n";
}

// A recipe that cuts them into three folds.
class FoldTest : public RunTest {
 protected:
  FoldTest() { write("faq.tsv", questions_and_answers()); }

  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", R"(
name: folded
seed: 5
folds: 3
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
stages:
  objectives:
    data: {path: faq.tsv, left: question, right: answer, score: "", part: fit}
    dev: {part: dev}
    loss: mnrl
    batch_size: 4
  epochs: 2
  learning_rate: 1e-3
  selection: {metric: loss.all}
tests:
  {name: test, task: ranking, data: faq.tsv, left: question, right: answer, score: "", part: test,
   metrics: [map, has_positive@1, has_positive@3, has_positive@5]}
baselines: [bm25, hybrid]
)");
    ConfigNode node = load_config(join_path(folder_, "recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }
};

}  // namespace simile::testing
