// SPDX-License-Identifier: Apache-2.0
#include "simile/train/train_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

std::string temporary_path() {
  return ::testing::TempDir() + "simile_state_" + std::to_string(getpid()) + ".safetensors";
}

TrainState example() {
  TrainState state;
  state.stage = 1;
  state.step = 7;
  state.evaluated_step = 5;
  state.objectives.resize(2);
  state.objectives[0] = {
      3, 1, {3, 1, 2}, {1, 2}, {{"temperature", {2.3f}}, {"projection", {0.5f, -1e-42f}}}};
  state.objectives[1] = {1, 2, {0, 1, 2, 3, 4}, {2, 2, 1}, {}};
  state.selection.best_value = 0.1;
  state.temperatures = {{"bsc", 0.1}};
  state.best_temperatures = {{"bsc", 0.07}, {"simcse", 1.0 / 3.0}};
  state.siar_skipped = 2;
  state.planned_steps = 40;
  state.trained_seconds = 1.25;
  state.step_seconds = 1e-300;
  state.average = {0.1f};
  state.weights = {1.5f, -0.0f, 3e-42f};
  state.optimizer.step = 7;
  state.optimizer.first_moment = {0.25f};
  state.optimizer.row_steps = {int64_t{1} << 40};
  state.optimizer.learning_rates = {1e-300, 0.1};
  return state;
}

TEST(TrainState, ComesBackBitForBit) {
  const std::string path = temporary_path();
  const TrainState state = example();
  save_train_state(path, state, "recipe");
  const TrainState back = load_train_state(path, "recipe");
  EXPECT_EQ(back.stage, 1);
  EXPECT_EQ(back.step, 7);
  EXPECT_EQ(back.evaluated_step, 5);
  ASSERT_EQ(back.objectives.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.objectives[i].epoch, state.objectives[i].epoch);
    EXPECT_EQ(back.objectives[i].next_batch, state.objectives[i].next_batch);
    EXPECT_EQ(back.objectives[i].order, state.objectives[i].order);
    EXPECT_EQ(back.objectives[i].batch_sizes, state.objectives[i].batch_sizes);
    EXPECT_EQ(back.objectives[i].loss, state.objectives[i].loss);
  }
  EXPECT_EQ(back.selection.best_value, 0.1);
  EXPECT_EQ(back.temperatures, state.temperatures);
  EXPECT_EQ(back.best_temperatures, state.best_temperatures);
  EXPECT_EQ(back.siar_skipped, 2);
  EXPECT_EQ(back.average, state.average);
  EXPECT_EQ(back.weights, state.weights);
  EXPECT_TRUE(std::signbit(back.weights[1]));
  EXPECT_TRUE(back.best.empty());
  EXPECT_EQ(back.optimizer.row_steps, state.optimizer.row_steps);
  EXPECT_EQ(back.optimizer.learning_rates, state.optimizer.learning_rates);
  std::filesystem::remove(path);
}

TEST(TrainState, RefusesAPlanThatDoesNotHoldTogether) {
  const std::string path = temporary_path();
  const auto refuses = [&](const std::vector<int32_t>& batch_sizes, int64_t next_batch) {
    TrainState state = example();
    state.objectives[0].batch_sizes = batch_sizes;
    state.objectives[0].next_batch = next_batch;
    save_train_state(path, state, "recipe");
    EXPECT_THROW(load_train_state(path, "recipe"), Error) << next_batch;
  };
  refuses({1, 1}, 0);
  refuses({4, -1}, 0);
  refuses({1, 2}, 3);
  refuses({1, 2}, -1);
  std::filesystem::remove(path);
}

TEST(TrainState, RefusesAnotherRecipeAndATruncatedFile) {
  const std::string path = temporary_path();
  save_train_state(path, example(), "recipe");
  EXPECT_THROW(load_train_state(path, "another"), Error);
  const std::string bytes = read_file(path);
  for (size_t size = 0; size < bytes.size(); size += 13) {
    write_file_atomic(path, bytes.substr(0, size));
    EXPECT_THROW(load_train_state(path, "recipe"), Error) << size;
  }
  std::filesystem::remove(path);
}

using ::testing::HasSubstr;

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

class StateStoreTest : public ::testing::Test {
 protected:
  ~StateStoreTest() override { std::filesystem::remove_all(folder_); }

  // With a log that has `log_bytes_` bytes of those that were saved.
  std::optional<TrainState> load(const std::string& recipe, EventSink& events) const {
    return store_.load(
        recipe, [this](const LogMark& log) { return log.bytes <= log_bytes_; }, events);
  }

  static TrainState at(int64_t stage, int64_t step) {
    TrainState state;
    state.log = {100 * step, "hash"};
    state.stage = stage;
    state.step = step;
    state.weights = {1.0f, 2.0f, 3.0f, 4.0f};
    return state;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void flip_bit(const std::string& name, size_t place) const {
    std::string bytes = read_file(join_path(folder_, name));
    bytes[place % bytes.size()] = static_cast<char>(bytes[place % bytes.size()] ^ 4);
    write_file_atomic(join_path(folder_, name), bytes);
  }

  const std::string folder_ = ::testing::TempDir() + "simile_states_" + std::to_string(getpid()) +
                              "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const StateStore store_{folder_, 2};
  int64_t log_bytes_ = 1 << 20;
};

TEST_F(StateStoreTest, KeepsTheNewestAndGoesOnFromIt) {
  EXPECT_FALSE(load("recipe", silent_events()).has_value());
  for (const auto& [stage, step] : {std::pair(0, 9), {0, 10}, {1, 0}, {1, 2}}) {
    store_.save(at(stage, step), "recipe");
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"0001-000000000000.safetensors",
                                               "0001-000000000002.safetensors"}));
  const TrainState newest = *load("recipe", silent_events());
  EXPECT_EQ(newest.stage, 1);
  EXPECT_EQ(newest.step, 2);
}

TEST_F(StateStoreTest, ADamagedNewestIsSetAsideWithAWarningForTheOneBefore) {
  store_.save(at(0, 1), "recipe");
  store_.save(at(0, 2), "recipe");
  const size_t size = read_file(join_path(folder_, "0000-000000000002.safetensors")).size();
  for (size_t place = 0; place < size; place += 7) {  // in the header, the numbers, the arrays
    store_.save(at(0, 2), "recipe");
    flip_bit("0000-000000000002.safetensors", place);
    Warnings warnings;
    const TrainState state = *load("recipe", warnings);
    EXPECT_EQ(state.step, 1) << "byte " << place;
    EXPECT_THAT(warnings.text, HasSubstr("0000-000000000002.safetensors"));
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"0000-000000000001.safetensors",
                                               "0000-000000000002.safetensors.damaged"}));
}

TEST_F(StateStoreTest, WhenAllAreDamagedNothingBeginsFromTheStartUnasked) {
  store_.save(at(0, 1), "recipe");
  flip_bit("0000-000000000001.safetensors", 500);
  for (int i = 0; i < 2; ++i) {  // nor when it is asked again
    try {
      load("recipe", silent_events());
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("--overwrite"));
    }
  }
}

TEST_F(StateStoreTest, AStateWithoutItsLogGivesWayToTheOneBefore) {
  store_.save(at(0, 1), "recipe");
  store_.save(at(0, 2), "recipe");
  log_bytes_ = 99;
  EXPECT_THROW(load("recipe", silent_events()), Error);
  EXPECT_EQ(files().size(), 2u);  // the log may come back
  log_bytes_ = 199;
  Warnings warnings;
  EXPECT_EQ(load("recipe", warnings)->step, 1);
  EXPECT_THAT(warnings.text, HasSubstr("metrics.jsonl"));
  EXPECT_EQ(files(), (std::vector<std::string>{"0000-000000000001.safetensors",
                                               "0000-000000000002.safetensors.damaged"}));
}

TEST_F(StateStoreTest, TheStateOfAnotherRecipeIsNoDamage) {
  store_.save(at(0, 1), "recipe");
  try {
    load("another", silent_events());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("another recipe"));
  }
  EXPECT_EQ(files().size(), 1u);
}

}  // namespace
}  // namespace simile
