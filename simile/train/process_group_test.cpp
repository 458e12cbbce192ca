// SPDX-License-Identifier: Apache-2.0
#include "simile/train/process_group.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/train/detail/process_test.h"

namespace simile {
namespace {

using testing::as_processes;
using ::testing::HasSubstr;

TEST(ProcessGroup, GathersRowsOfEveryRankInOrder) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  as_processes(3, [](ProcessGroup& group) {
    const std::vector<int64_t> bounds = {0, 2, 2, 3};  // rank 1 has none
    const int64_t begin = bounds[group.rank()], rows = bounds[group.rank() + 1] - begin;
    const torch::Tensor own = torch::arange(rows * 2, torch::kFloat32).view({rows, 2}) + begin * 2;
    const torch::Tensor all = group.gather_rows(own, bounds);
    EXPECT_TRUE(torch::equal(all, torch::arange(6, torch::kFloat32).view({3, 2})));
  });
}

TEST(ProcessGroup, AddsToTheSameBitsEverywhere) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  std::vector<std::string> sums(3);
  as_processes(3, [&](ProcessGroup& group) {
    const torch::Tensor values =
        torch::arange(1000, torch::kFloat32).mul(0.1f + 0.37f * static_cast<float>(group.rank()));
    group.sum(values);
    EXPECT_NEAR(values[1].item<float>(), 0.1 + 0.47 + 0.84, 1e-6);
    sums[group.rank()].assign(reinterpret_cast<const char*>(values.data_ptr<float>()), 4000);
  });
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

TEST(ProcessGroup, BegunSumsAreThoseOfEach) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  as_processes(3, [](ProcessGroup& group) {
    std::vector<torch::Tensor> values;
    for (int64_t i = 0; i < 20; ++i) {
      values.push_back(torch::full({1 + 1000 * (i % 3)}, static_cast<float>(i + group.rank())));
      group.begin_sum(values.back());
    }
    group.begin_sum(torch::empty({0}));
    group.finish_sums();
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(
          torch::equal(values[i], torch::full_like(values[i], static_cast<float>(3 * i + 3))));
    }
  });
}

TEST(ProcessGroup, KeepsTheThreadsOfEachRank) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  const int threads = 3;  // no default of ATen's
  as_processes(
      2,
      [&](ProcessGroup& group) {
        group.sum(torch::ones({100000}));
        EXPECT_EQ(torch::ones({100000}).max().item<float>(), 1);
        EXPECT_EQ(thread_count(), threads);
      },
      60, threads);
}

TEST(ProcessGroup, SendsTextsOfAnyLength) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  as_processes(3, [](ProcessGroup& group) {
    const std::vector<std::string> texts = {"", std::string("a\0b", 3), "long text"};
    EXPECT_EQ(group.gather(texts[group.rank()]), texts);
    EXPECT_EQ(group.broadcast(group.rank() == 0 ? "bytes" : "else"), "bytes");
    EXPECT_EQ(group.broadcast(group.rank() == 0 ? "" : "else"), "");
  });
}

// The error of a process that waits for another one that no longer takes part.
std::string message_of_rank_0(const std::function<void(ProcessGroup&)>& of_rank_1, double timeout,
                              double* seconds) {
  const std::string file = fmt::format("{}simile_group_{}", ::testing::TempDir(), getpid());
  const std::string said = file + ".said";
  std::filesystem::remove(file);
  std::filesystem::remove(said);
  std::vector<pid_t> children;
  for (int rank = 0; rank < 2; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    try {
      const auto group = ProcessGroup::meet(file, rank, 2, timeout);
      group->gather("here");
      if (rank == 1) of_rank_1(*group);
      group->gather("and there");
      _exit(0);
    } catch (const Error& error) {
      write_file_atomic(rank == 0 ? said : said + "1", error.what());
      _exit(1);
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  waitpid(children[0], &status, 0);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  kill(children[1], SIGKILL);
  waitpid(children[1], &status, 0);
  const std::string message = file_exists(said) ? read_file(said) : "nothing";
  for (const std::string& left : {file, said, said + "1"}) std::filesystem::remove(left);
  return message;
}

TEST(ProcessGroup, NamesTheRankThatHangs) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  double seconds = 0;
  EXPECT_THAT(message_of_rank_0([](ProcessGroup&) { raise(SIGSTOP); }, 2, &seconds),
              HasSubstr("rank 1 shows no sign of life"));
  EXPECT_LT(seconds, 15);
  EXPECT_THAT(message_of_rank_0([](ProcessGroup&) { sleep(30); }, 2, &seconds),
              HasSubstr("rank 1 is alive but still behind"));
  EXPECT_LT(seconds, 15);
}

TEST(ProcessGroup, AwaitsWhatTheFirstDoesAloneBeyondTheTimeOut) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  as_processes(
      3,
      [](ProcessGroup& group) {
        for (int time = 0; time < 2; ++time) {
          if (group.rank() == 0) sleep(time == 0 ? 3 : 0);
          group.await_first([] {});
          EXPECT_EQ(group.gather("x").size(), 3u);
        }
      },
      1);
}

TEST(ProcessGroup, DoesNotAwaitAFirstThatEndedOrIsInterrupted) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  try {
    as_processes(
        2,
        [](ProcessGroup& group) {
          if (group.rank() == 1) group.await_first([] {});
        },
        1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 shows no sign of life for 1 s"));
  }
  EXPECT_THROW(
      as_processes(2,
                   [](ProcessGroup& group) {
                     if (group.rank() == 0) return sleep(1), void();
                     group.await_first([] { throw Error(ErrorKind::kInterrupted, "by a signal"); });
                   }),
      Error);
}

TEST(ProcessGroup, TellsSoonThatAnotherEnded) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  double seconds = 0;
  EXPECT_THAT(message_of_rank_0([](ProcessGroup&) { raise(SIGKILL); }, 60, &seconds),
              HasSubstr("another process ended or was killed"));
  EXPECT_LT(seconds, 10);
}

TEST(ProcessGroup, SaysHowManyCame) {
  if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  ProcessPlace place;
  place.size = 3;
  place.address = "127.0.0.1";
  place.port = testing::free_port();
  try {
    ProcessGroup::connect(place, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), HasSubstr("only 1 processes of 3 came within 1 s"));
  }
}

}  // namespace
}  // namespace simile
