// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_loop.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Training of one number, which each step adds its own number to.
class Counter : public SteppedTraining {
 public:
  Counter(const std::string& folder, bool resume, const SaveOptions& save, EventSink& events)
      : loop_(folder, resume, !resume, save, "{}", *this, events) {}

  float train(const RecipeInputs& inputs = {{"dev data", "a"}, {"weights", "b"}}) {
    loop_.begin(inputs);
    loop_.run([&] { loop_.run_stage(); });
    loop_.save();
    loop_.finish({});
    return sum_;
  }

 private:
  bool is_evaluation_due() const override {
    return state_.step % 4 == 0 && state_.evaluated_step != state_.step;
  }
  void evaluate() override {
    Report report;
    report.name = "sum";
    report.metrics = {{"value", sum_}};
    loop_.log_evaluation(report);
    state_.evaluated_step = state_.step;
  }
  bool is_done() const override { return state_.step == 10; }
  StepResult step() override {
    sum_ += static_cast<float>(state_.step);
    StepResult result;
    result.loss = sum_;
    return result;
  }
  Progress progress() const override { return {"count", state_.step, 10, "steps", {}}; }
  double epochs_done() const override { return static_cast<double>(state_.step) / 10; }
  std::string position() const override { return fmt::format("step {}", state_.step); }
  void fill_state(TrainState& state) override { state.weights = {sum_}; }
  void take_state(TrainState& state) override { sum_ = state.weights.at(0); }

  RunLoop loop_;
  TrainState& state_ = loop_.state();
  float sum_ = 0;
};

// Ends the run at the report of a step: as a signal would, or as a crash.
class Stopper : public EventSink {
 public:
  Stopper(int64_t step, ErrorKind kind) : step_(step), kind_(kind) {}
  void progress(const Progress& progress) override {
    if (progress.done == step_) throw Error(kind_, "told to stop");
  }
  void info(const std::string& message) override { told_ += message + "\n"; }
  const std::string& told() const { return told_; }

 private:
  int64_t step_;
  ErrorKind kind_;
  std::string told_;
};

class RunLoopTest : public ::testing::Test {
 protected:
  RunLoopTest()
      : folder_(fmt::format("{}simile_run_loop_test_{}_{}", ::testing::TempDir(), getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }
  ~RunLoopTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  std::string log(const std::string& run) const { return read_file(path(run + "/metrics.jsonl")); }

  // The message of a run of ten steps that is stopped at one of them.
  std::string stop(const std::string& run, int64_t step, ErrorKind kind, const SaveOptions& save) {
    Stopper events(step, kind);
    try {
      Counter(path(run), false, save, events).train();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string folder_;
};

TEST_F(RunLoopTest, GoesOnFromWhereItWasInterrupted) {
  EXPECT_EQ(Counter(path("whole"), false, {}, silent_events()).train(), 45);
  for (const int64_t step : {1, 4, 7, 10}) {
    EXPECT_THAT(stop("cut", step, ErrorKind::kInterrupted, {}),
                AllOf(HasSubstr("told to stop"), HasSubstr(fmt::format("saved at step {}", step))));
    Stopper listener(-1, ErrorKind::kFailed);
    EXPECT_EQ(Counter(path("cut"), true, {}, listener).train(), 45);
    EXPECT_THAT(listener.told(), HasSubstr(fmt::format("resuming at step {}", step)));
    EXPECT_EQ(log("cut"), log("whole")) << step;
  }
}

TEST_F(RunLoopTest, AfterACrashGoesOnFromTheLastSaveByTimeOrEvaluation) {
  SaveOptions seldom, always;
  seldom.save_every_minutes = 0;
  always.save_every_minutes = 1e-9;
  Counter(path("whole"), false, seldom, silent_events()).train();
  for (const auto& [save, resumed_at] : {std::make_pair(seldom, 4), std::make_pair(always, 6)}) {
    EXPECT_EQ(stop("cut", 7, ErrorKind::kFailed, save), "told to stop");
    Stopper listener(-1, ErrorKind::kFailed);
    EXPECT_EQ(Counter(path("cut"), true, save, listener).train(), 45);
    EXPECT_EQ(listener.told(), fmt::format("resuming at step {}\n", resumed_at));
    EXPECT_EQ(log("cut"), log("whole"));
  }
}

TEST_F(RunLoopTest, OtherInputsAreRefusedByName) {
  stop("cut", 5, ErrorKind::kInterrupted, {});
  const auto resume = [&](const RecipeInputs& inputs) {
    try {
      Counter(path("cut"), true, {}, silent_events()).train(inputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(
      resume({{"dev data", "c"}, {"weights", "b"}}),
      AllOf(HasSubstr("dev data was a when the run began and is c now"), HasSubstr("--overwrite")));
  EXPECT_THAT(resume({{"dev data", "a"}, {"weights", "c"}}), HasSubstr("weights was b"));
  EXPECT_EQ(resume({{"dev data", "a"}, {"weights", "b"}}), "no error");
}

// One bit of an evaluation decides a verdict; a copy may have only a part of the log, or none.
TEST_F(RunLoopTest, ADamagedLogIsNeitherTakenNorFilledUp) {
  SaveOptions always;
  always.save_every_minutes = 1e-9;
  Counter(path("whole"), false, always, silent_events()).train();
  const auto resume = [&](const std::string& bytes) {
    stop("cut", 7, ErrorKind::kFailed, always);
    if (bytes.empty()) std::filesystem::remove(path("cut/metrics.jsonl"));
    if (!bytes.empty()) write_file_atomic(path("cut/metrics.jsonl"), bytes);
    Stopper listener(-1, ErrorKind::kFailed);
    try {
      EXPECT_EQ(Counter(path("cut"), true, always, listener).train(), 45);
      EXPECT_EQ(log("cut"), log("whole"));
      return listener.told();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(file_exists(path("cut/metrics.jsonl")) ? log("cut") : "", bytes);
      return std::string(error.what());
    }
  };
  stop("cut", 7, ErrorKind::kFailed, always);
  const std::string whole = log("cut");
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  EXPECT_EQ(resume(whole), "resuming at step 6\n");
  EXPECT_EQ(resume(whole + "beyond"), "resuming at step 6\n");
  EXPECT_THAT(resume(damaged), HasSubstr("metrics.jsonl is damaged"));
  EXPECT_THAT(resume(""), HasSubstr("metrics.jsonl is damaged"));
  // The lines of two steps are missing; the state before the newest had one of them less.
  EXPECT_EQ(resume(whole.substr(0, whole.rfind('\n', last - 2) + 1)), "resuming at step 5\n");
}

TEST_F(RunLoopTest, AFolderThatAnotherRunTookIsLeftAlone) {
  class Replacing : public EventSink {
   public:
    Replacing(std::string run, std::string other) : run_(std::move(run)), other_(other) {}
    void progress(const Progress& progress) override {
      if (progress.done != 5) return;
      std::filesystem::rename(run_, other_);
      RunFolder(run_, false, false).write_run("{}");
    }

   private:
    std::string run_, other_;
  } events(path("run"), path("moved"));
  try {
    Counter(path("run"), false, {}, events).train();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_THAT(error.what(), HasSubstr("was removed, renamed or replaced"));
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(path("run"))) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("lock", "run.json"));
}

TEST(RecentLosses, LaterStepsWeighMore) {
  RecentLosses losses;
  EXPECT_THAT(losses.values(), IsEmpty());
  losses.add("", 3);
  EXPECT_THAT(losses.values(), ElementsAre(Pair("loss", DoubleEq(3))));
  losses.add("", 1);
  EXPECT_THAT(losses.values(), ElementsAre(Pair("loss", DoubleEq((0.95 * 3 + 1) / 1.95))));
  for (int i = 0; i < 400; ++i) losses.add("", 7);
  EXPECT_NEAR(losses.values()[0].second, 7, 1e-6);
  losses.clear();
  EXPECT_THAT(losses.values(), IsEmpty());
}

TEST(RecentLosses, EachObjectiveHasItsOwn) {
  RecentLosses losses;
  losses.add("nli", 1);
  losses.add("sts", 0.25);
  losses.add("nli", 1);
  EXPECT_THAT(losses.values(),
              ElementsAre(Pair("loss (nli)", DoubleEq(1)), Pair("loss (sts)", DoubleEq(0.25))));
}

}  // namespace
}  // namespace simile
