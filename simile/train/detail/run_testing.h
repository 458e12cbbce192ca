// SPDX-License-Identifier: Apache-2.0
// What the tests of whole runs share: a folder with a small made-up task, and ways to end a run
// before it is done.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "simile/core/error.h"
#include "simile/core/event.h"
#include "simile/core/file.h"

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

  const std::string folder_;
};

}  // namespace simile::testing
