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

  float train(const std::string& data = "the data") {
    loop_.begin(data, "numbers");
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

  // What a run of ten steps says that is stopped at one of them.
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

TEST_F(RunLoopTest, OtherDataAreRefused) {
  stop("cut", 5, ErrorKind::kInterrupted, {});
  Counter again(path("cut"), true, {}, silent_events());
  try {
    again.train("other data");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("the numbers or the tokenizer is not what"));
  }
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
