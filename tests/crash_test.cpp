// SPDX-License-Identifier: Apache-2.0
// Training that was killed at random moments (SIGKILL: no handler runs), or met a full disk, ends
// with the bytes of a run that was left alone once it is resumed. SIMILE_KILLS=50 in the
// environment kills 50 times instead of 5, with SIMILE_KILL_LIBRARY=kill_point.so every other time
// before a random call that changes files (tests/kill_training.sh).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>
#include <thread>

#include "simile/core/file.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kRecipe = R"(
name: killed
architecture: {layers: 2, hidden: 32, heads: 2, intermediate: 64, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
attention_dropout: 0.1
heads: {name: score, kind: mlp, input: pair, output: probability}
save_every_minutes: 1e-9
stages:
  - name: ranked
    objectives:
      - data: {path: train.tsv, score_scale: 5}
        loss: {name: combo, mu: 0.5, temperature: {value: 0.1, trainable: true}}
        order: {name: neighbours, group_size: 4, neighbours: 20}
        batch_size: 8
        chunk_tokens: 40
      - {name: same, data: {path: train.tsv, right: sentence1, score: ""}, loss: simcse, batch_size: 16}
    epochs: 2
    accumulation: 2
    learning_rate: 1e-3
    selection: {metric: dev.spearman, every_steps: 5}
  - name: scored
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: bce, head: score, batch_size: 16}
    epochs: 10
    learning_rate: 1e-3
    siar: {weight: 0.1, bregman: 0.1}
    selection: {metric: dev.spearman, every_steps: 3, early_stop: {patience: 9}}
evaluations:
  - {name: dev, task: sts, data: dev.tsv}
  - {name: ranks, task: ranking, queries: queries.tsv, corpus: queries.tsv, qrels: qrels.tsv}
baselines: [bm25, hybrid]
)";

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() : folder_(fmt::format("{}simile_crash_test_{}", ::testing::TempDir(), getpid())) {
    fs::remove_all(folder_);
    make_folders(folder_);
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 0; i < 40; ++i) vocabulary += fmt::format("w{}\n", i);
    write_file_atomic(path("vocab.txt"), vocabulary);
    write_file_atomic(path("train.tsv"), pairs(0, 90));
    write_file_atomic(path("dev.tsv"), pairs(90, 120));
    std::string queries = "id\ttext\n", judgements = "query_id\tdoc_id\trelevance\n";
    for (int i = 0; i < 20; ++i) {
      queries += fmt::format("q{}\tw{} w{}\n", i, i, i * 3 % 40);
      judgements += fmt::format("q{}\tq{}\t1\n", i, (i + 1) % 20);
    }
    write_file_atomic(path("queries.tsv"), queries);
    write_file_atomic(path("qrels.tsv"), judgements);
    write_file_atomic(path("recipe.yaml"), kRecipe);
  }
  ~CrashTest() override { fs::remove_all(folder_); }

  static std::string pairs(int begin, int end) {
    std::string text = "sentence1\tsentence2\tscore\n";
    for (int i = begin; i < end; ++i) {
      const int a = i * 7 % 40, b = i * 11 % 40, c = i * 13 % 37;
      text += fmt::format("w{} w{}\tw{} w{}\t{}\n", a, b, a, i % 3 == 0 ? b : c, i % 3 ? 1 : 5);
    }
    return text;
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  // `file_limit`: no file may grow beyond this number of bytes, as if the disk were full; 0: no
  // limit. `kill_at`: the call that changes files before which it is killed; 0: none, the calls are
  // counted.
  pid_t start(const std::string& run, rlim_t file_limit = 0, int64_t kill_at = 0) const {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child != 0) return child;
    if (const char* library = std::getenv("SIMILE_KILL_LIBRARY")) {
      setenv("LD_PRELOAD", library, 1);
      setenv("SIMILE_KILL_AT", std::to_string(kill_at).c_str(), 1);
      setenv("SIMILE_KILL_COUNT", path("calls").c_str(), 1);
    }
    if (file_limit > 0) {
      signal(SIGXFSZ, SIG_IGN);  // writes then fail, as they do on a full disk
      const rlimit limit{file_limit, file_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    const std::string log = path("log");
    if (freopen(log.c_str(), "a", stderr) == nullptr) _exit(9);
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(9);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execl(SIMILE_PROGRAM, "simile", "train", path("recipe.yaml").c_str(), "--output",
          path(run).c_str(), "--resume", "--quiet", static_cast<char*>(nullptr));
    _exit(9);
  }

  // Waits for the end of the program; the message of one that failed.
  std::string finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return "killed";
    return WEXITSTATUS(status) == 0 ? "" : read_file(path("log"));
  }

  // Everything of a run that a user continues with, by its name in the folder.
  std::vector<std::string> results(const std::string& run) const {
    std::vector<std::string> files = {"metrics.jsonl", "run.json"};
    for (const std::string folder : {"model", "states", "predictions"}) {
      for (const auto& entry : fs::recursive_directory_iterator(path(run + "/" + folder))) {
        if (!entry.is_regular_file()) continue;
        files.push_back(fs::relative(entry.path(), path(run)).string());
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  void expect_equal(const std::string& whole, const std::string& killed) const {
    ASSERT_EQ(results(whole), results(killed));
    for (const std::string& file : results(whole)) {
      EXPECT_EQ(read_file(path(whole + "/" + file)), read_file(path(killed + "/" + file))) << file;
    }
    EXPECT_EQ(lasting_results(whole), lasting_results(killed));
    for (const auto& entry : fs::recursive_directory_iterator(path(killed))) {
      EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
    }
  }

  // results.json without the time that the run took, and the checksum of it.
  std::string lasting_results(const std::string& run) const {
    const std::regex varying("\"(seconds|checksum)\": [^,\n]*");
    return std::regex_replace(read_file(path(run + "/results.json")), varying, "");
  }

  const std::string folder_;
};

TEST_F(CrashTest, KilledAtRandomMomentsARunEndsWithTheSameBytes) {
#ifndef SIMILE_WITH_TRAINING
  GTEST_SKIP() << "skipped: this build cannot train";
#endif
  const char* wanted = std::getenv("SIMILE_KILLS");
  const int kills = wanted == nullptr ? 5 : std::atoi(wanted);
  const auto begin = Clock::now();
  ASSERT_EQ(finish(start("whole")), "");
  const std::chrono::duration<double> whole = Clock::now() - begin;
  std::mt19937 random(static_cast<unsigned>(getpid()));
  // Starting takes most of the time of so small a run: most kills should come after it.
  std::uniform_real_distribution<double> moment(0.45 * whole.count(), 1.05 * whole.count());
  int64_t calls = 0;
  if (file_exists(path("calls"))) calls = std::stoll(read_file(path("calls")));
  std::uniform_int_distribution<int64_t> call(1, std::max<int64_t>(1, calls));
  int killed = 0, completed = 0, at_calls = 0;
  for (bool done = false; !done;) {
    const bool at_call = calls > 0 && killed % 2 == 1 && killed < kills;
    const pid_t child = start("killed", 0, at_call ? call(random) : 0);
    if (killed < kills && !at_call) {
      std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
      kill(child, SIGKILL);
    }
    const std::string outcome = finish(child);
    if (outcome == "killed") {
      ++killed;
      at_calls += at_call ? 1 : 0;
      continue;
    }
    ASSERT_EQ(outcome, "");
    ++completed;
    expect_equal("whole", "killed");
    done = killed == kills;
    if (!done) fs::remove_all(path("killed"));
  }
  fmt::print(
      "{} kills ({} of them before one of {} calls), {} runs completed, each with the bytes "
      "of the run left alone\n",
      killed, at_calls, calls, completed);
}

TEST_F(CrashTest, AFullDiskEndsARunWithAMessageAndNothingLost) {
#ifndef SIMILE_WITH_TRAINING
  GTEST_SKIP() << "skipped: this build cannot train";
#endif
  ASSERT_EQ(finish(start("whole")), "");
  const auto metrics = static_cast<rlim_t>(fs::file_size(path("whole/metrics.jsonl")));
  const auto state =
      static_cast<rlim_t>(fs::file_size(*fs::directory_iterator(path("whole/states"))));
  ASSERT_LT(metrics, state);
  for (const rlim_t limit : {metrics / 2, state / 2}) {  // a log that is cut, no state at all
    const std::string message = finish(start("full", limit));
    EXPECT_THAT(message, ::testing::HasSubstr("cannot write"));
    for (const auto& entry : fs::recursive_directory_iterator(path("full"))) {
      EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
    }
    ASSERT_EQ(finish(start("full")), "");
    expect_equal("whole", "full");
    fs::remove_all(path("full"));
  }
}

}  // namespace
}  // namespace simile
