// SPDX-License-Identifier: Apache-2.0
// `simile train --processes`: what a user sees of several processes, above all of those that end,
// are killed or hang.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/shell.h"

namespace simile {
namespace {

#ifdef SIMILE_WITH_TRAINING

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kRecipe = R"(
name: shared
architecture: {layers: 2, hidden: 32, heads: 2, intermediate: 64, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
save_every_minutes: 1e-9
stages:
  objectives: {data: {path: train.tsv, score_scale: 5}, loss: bsc, batch_size: 16}
  epochs: 2
  learning_rate: 1e-3
  optimizer: {name: adamw, epsilon: 1e-4}
  selection: {metric: dev.spearman, every_steps: 5}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: []
)";

class ProcessesTest : public ShellTest {
 protected:
  void SetUp() override {
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 0; i < 40; ++i) vocabulary += fmt::format("w{}\n", i);
    write("vocab.txt", vocabulary);
    write("train.tsv", pairs(0, 90));
    write("dev.tsv", pairs(90, 120));
    write("recipe.yaml", kRecipe);
    const Outcome outcome = shell("simile train recipe.yaml --processes 2 --output probe");
    if (outcome.err.find("libgloo-dev") != std::string::npos) {
      GTEST_SKIP() << "skipped: built without Gloo";
    }
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  static std::string pairs(int begin, int end) {
    std::string text = "sentence1\tsentence2\tscore\n";
    for (int i = begin; i < end; ++i) {
      const int a = i * 7 % 40, b = i * 11 % 40, c = i * 13 % 37;
      text += fmt::format("w{} w{}\tw{} w{}\t{}\n", a, b, a, i % 3 == 0 ? b : c, i % 3 ? 1 : 5);
    }
    return text;
  }

  // Starts a long run in the background and waits until it has saved a state.
  pid_t start(const std::string& options) const {
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(path(".").c_str()) != 0) _exit(9);
      if (freopen("err", "w", stderr) == nullptr || freopen("out", "w", stdout) == nullptr) {
        _exit(9);
      }
      const std::string line = fmt::format(
          "exec '{}' train recipe.yaml stages.0.epochs=100000 "
          "stages.0.selection.every_steps=100000 "
          "--output long {}",
          SIMILE_PROGRAM, options);
      execl("/bin/bash", "bash", "-c", line.c_str(), static_cast<char*>(nullptr));
      _exit(9);
    }
    const auto begin = Clock::now();
    while (!has_state() && Clock::now() - begin < std::chrono::seconds(60)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(has_state());
    return child;
  }

  bool has_state() const {
    std::error_code ignored;
    int states = 0;
    for (const auto& entry : fs::directory_iterator(path("long/states"), ignored)) {
      states += entry.path().extension() == ".safetensors" ? 1 : 0;
    }
    return states > 1;
  }

  // A zombie does not count.
  static bool is_running(pid_t process) {
    std::ifstream stat(fmt::format("/proc/{}/stat", process));
    const std::string line((std::istreambuf_iterator<char>(stat)), {});
    const size_t after = line.rfind(") ");
    return after != std::string::npos && line[after + 2] != 'Z';
  }

  // The process of a rank among the children of the one that was started.
  static pid_t child_of(pid_t parent, int rank) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream stat(entry.path() / "stat"), environment(entry.path() / "environ");
      const std::string line((std::istreambuf_iterator<char>(stat)), {});
      const std::string variables((std::istreambuf_iterator<char>(environment)), {});
      const size_t after = line.rfind(") ");
      if (after == std::string::npos) continue;
      if (std::atoi(line.c_str() + after + 4) != parent) continue;
      if (variables.find(fmt::format("{0}RANK={1}{0}", '\0', rank)) == std::string::npos) continue;
      return std::atoi(name.c_str());
    }
    return -1;
  }

  struct End {
    int status;
    double seconds;
  };
  static End wait_for(pid_t child) {
    const auto begin = Clock::now();
    End end{0, 0};
    waitpid(child, &end.status, 0);
    end.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return end;
  }

  // Training resumes from the last saved state, with any number of processes.
  void expect_resumes() const {
    for (const auto& [signal, code] : {std::pair("TERM", 143), {"HUP", 129}}) {
      expect_resumes(signal, code);
    }
  }
  void expect_resumes(const std::string& signal, int code) const {
    const Outcome outcome = shell(
        "rm -f resumed; \"$P\" train recipe.yaml stages.0.epochs=100000 "
        "stages.0.selection.every_steps=100000 "
        "--output long --resume --processes 2 2> resumed & until grep -q resuming resumed; do "
        "sleep "
        "0.1; kill -0 $! || break; done; kill -" +
        signal + " $!; wait $!; code=$?; cat resumed >&2; exit $code");
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("resuming at stage 1 step"), HasSubstr("saved at")));
  }
};

class ProcessesSlow : public ProcessesTest {};

TEST_F(ProcessesTest, TrainTheModelOfOneProcess) {
  const Outcome one = shell("simile train recipe.yaml --output one");
  const Outcome two = shell("simile train recipe.yaml --processes 3 --output several");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.out.substr(0, one.out.find("model:")), two.out.substr(0, two.out.find("model:")));
  const auto similar = [&](const std::string& folder) {
    return shell("simile similarity --model " + folder + "/model 'w1 w2' 'w2 w3 w4'").out;
  };
  EXPECT_EQ(similar("one").substr(0, 6), similar("several").substr(0, 6));
}

TEST_F(ProcessesTest, SayAMistakeOnce) {
  const Outcome outcome = shell(
      "simile train recipe.yaml --processes 3 --output bad stages.0.objectives.0.batch_size=2");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("3 processes share each batch"));
  EXPECT_EQ(outcome.err.find("3 processes share"), outcome.err.rfind("3 processes share"));
  EXPECT_THAT(shell("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 simile train recipe.yaml "
                    "--processes 2 --output bad")
                  .err,
              HasSubstr("leave --processes out"));
}

// Started as torchrun starts them, each in a folder with files of its own.
TEST_F(ProcessesTest, TellWhenOneHasOtherDataOrAnotherRecipe) {
  const auto two = [&](const std::string& more) {
    return shell(
        "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM)); R=$PWD; "
        "mkdir -p b; sed 's/\\t5$/\\t4/' train.tsv > b/train.tsv; T() { \"$P\" train "
        "$R/recipe.yaml stages.0.objectives.0.data.path=/proc/self/cwd/train.tsv \"$@\"; }; "
        "(cd b; RANK=1 T --output bad1 " +
        more + " 2> ../other.err) & RANK=0 T --output bad0; code=$?; wait; exit $code");
  };
  const Outcome data = two("");
  EXPECT_EQ(data.code, 3) << data.err;
  EXPECT_THAT(data.err, HasSubstr("rank 1 has /proc/self/cwd/train.tsv other than rank 0"));
  EXPECT_THAT(read_file(path("other.err")), HasSubstr("rank 1 has /proc/self/cwd/train.tsv other"));
  const Outcome recipe = two("seed=2");
  EXPECT_THAT(recipe.err, HasSubstr("rank 1 has another recipe than rank 0: seed is 2"));
  EXPECT_FALSE(file_exists(path("bad0/run.json")));
}

TEST_F(ProcessesSlow, AKilledOneEndsAllAndTheStateIsWhole) {
  for (const int rank : {1, 0}) {
    SCOPED_TRACE(rank);
    const pid_t parent = start("--processes 3");
    const pid_t victim = child_of(parent, rank), other = child_of(parent, 2);
    ASSERT_GT(victim, 0);
    kill(victim, SIGKILL);
    const End end = wait_for(parent);
    EXPECT_EQ(WEXITSTATUS(end.status), 137);
    EXPECT_LT(end.seconds, 5);
    EXPECT_FALSE(is_running(other));
    EXPECT_THAT(read_file(path("err")),
                HasSubstr(fmt::format("rank {} was killed by signal 9", rank)));
    expect_resumes();
    fs::remove_all(path("long"));
  }
}

// Rank 0 holds what the others look into.
TEST_F(ProcessesSlow, AHangingOneIsNamed) {
  for (const int rank : {1, 0}) {
    SCOPED_TRACE(rank);
    const pid_t parent = start("--processes 3 --timeout 2");
    const pid_t victim = child_of(parent, rank);
    ASSERT_GT(victim, 0);
    kill(victim, SIGSTOP);
    const End end = wait_for(parent);
    EXPECT_EQ(WEXITSTATUS(end.status), 1);
    EXPECT_LT(end.seconds, 20);
    EXPECT_FALSE(is_running(victim));
    EXPECT_THAT(read_file(path("err")),
                HasSubstr(fmt::format("rank {} shows no sign of life", rank)));
    expect_resumes();
    fs::remove_all(path("long"));
  }
}

// One that gets it before it listens ends at once, and the others would wait for it.
TEST_F(ProcessesSlow, NoSignalIsLostWhileTheyStart) {
  for (const auto& [signal, code] : {std::pair("TERM", 143), {"HUP", 129}}) {
    for (int i = 0; i < 12; ++i) {
      const Outcome outcome = shell(fmt::format(
          "timeout -k 1 60 \"$P\" train recipe.yaml stages.0.epochs=100000 --output early "
          "--overwrite "
          "--processes 2 2> early.err & sleep 0.{:02}; until pkill -{} -P $!; do sleep 0.01; done; "
          "wait $!; code=$?; cat early.err >&2; exit $code",
          10 + 3 * i, signal));
      EXPECT_EQ(outcome.code, code) << i << "\n" << outcome.err;
    }
  }
}

TEST_F(ProcessesTest, TheScratchFoldersOfKilledRunsAreRemoved) {
  const Outcome outcome = shell(
      "mkdir -p t/simile-train-99-0/simile-rank-7-0/states; export TMPDIR=$PWD/t; "
      "simile train recipe.yaml --processes 2 --output tidy >/dev/null && ls t");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ProcessesSlow, AllEndWithTheOneThatStartedThem) {
  const pid_t parent = start("--processes 2");
  const pid_t first = child_of(parent, 0), second = child_of(parent, 1);
  ASSERT_GT(second, 0);
  kill(parent, SIGKILL);
  wait_for(parent);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_FALSE(is_running(first));
  EXPECT_FALSE(is_running(second));
  expect_resumes();
}

#endif

}  // namespace
}  // namespace simile
