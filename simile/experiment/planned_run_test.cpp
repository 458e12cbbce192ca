// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/planned_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

// Runs that another process holds for a number of calls.
struct BusyRuns {
  std::vector<int> busy;
  std::vector<size_t> called = {};

  bool complete(size_t run) {
    called.push_back(run);
    return busy[run]-- <= 0;
  }
};

std::vector<size_t> calls(std::vector<int> busy, Scheduler::Others others) {
  BusyRuns runs{std::move(busy)};
  Scheduler scheduler(silent_events());
  scheduler.complete_all(
      runs.busy.size(), [&](size_t run) { return runs.complete(run); }, others);
  return runs.called;
}

class HalfWrittenTest : public ::testing::Test, protected TestFiles {};

TEST_F(HalfWrittenTest, IsRemovedOfThatFileAlone) {
  for (const char* name : {"trial-1.point.json", "trial-1.point.json.tmp-77",
                           "trial-11.point.json.tmp-77", "trial-1.point.json.lock"}) {
    write(name, "{}");
  }
  remove_half_written(path("trial-1.point.json"));
  EXPECT_FALSE(file_exists(path("trial-1.point.json.tmp-77")));
  EXPECT_TRUE(file_exists(path("trial-1.point.json")));
  EXPECT_TRUE(file_exists(path("trial-11.point.json.tmp-77")));
  EXPECT_TRUE(file_exists(path("trial-1.point.json.lock")));
}

TEST(Scheduler, ComesBackToRunsThatAnotherProcessIsAt) {
  const auto skip = Scheduler::Others::kSkip, wait = Scheduler::Others::kAwait;
  EXPECT_THAT(calls({0, 0, 0}, skip), ElementsAre(0, 1, 2));
  EXPECT_THAT(calls({0, 1, 0}, skip), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(calls({0, 9, 9}, skip), ElementsAre(0, 1, 2, 1, 2));
  EXPECT_THAT(calls({2, 1}, wait), ElementsAre(0, 1, 0, 1, 0));
}

TEST(Scheduler, AWaitCanBeInterrupted) {
  class Interruption : public EventSink {
   public:
    void progress(const Progress&) override { throw Error(ErrorKind::kInterrupted, "stop"); }
  } events;
  Scheduler scheduler(events);
  EXPECT_THROW(scheduler.complete_all(
                   1, [](size_t) { return false; }, Scheduler::Others::kAwait),
               Error);
}

TEST(RunEvents, SaysAWarningOnceForAllRuns) {
  class Warnings : public EventSink {
   public:
    void warning(const std::string& message) override { told.push_back(message); }
    std::vector<std::string> told;
  } events;
  Scheduler scheduler(events);
  for (const char* label : {"seed 1", "seed 2"}) {
    RunEvents(label, scheduler.told(), events).warning("few texts");
  }
  EXPECT_THAT(events.told, ElementsAre("seed 1: few texts"));
}

}  // namespace
}  // namespace simile
