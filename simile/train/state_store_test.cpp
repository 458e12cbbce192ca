// SPDX-License-Identifier: Apache-2.0
#include "simile/train/state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

class StateStoreTest : public ::testing::Test {
 protected:
  ~StateStoreTest() override { std::filesystem::remove_all(folder_); }

  static TrainState at(int64_t stage, int64_t step) {
    TrainState state;
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
};

TEST_F(StateStoreTest, KeepsTheNewestAndGoesOnFromIt) {
  EXPECT_FALSE(store_.load("recipe", silent_events()).has_value());
  for (const auto& [stage, step] : {std::pair(0, 9), {0, 10}, {1, 0}, {1, 2}}) {
    store_.save(at(stage, step), "recipe");
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"0001-000000000000.safetensors",
                                               "0001-000000000002.safetensors"}));
  const TrainState newest = *store_.load("recipe", silent_events());
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
    const TrainState state = *store_.load("recipe", warnings);
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
      store_.load("recipe", silent_events());
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("--overwrite"));
    }
  }
}

TEST_F(StateStoreTest, TheStateOfAnotherRecipeIsNoDamage) {
  store_.save(at(0, 1), "recipe");
  try {
    store_.load("another", silent_events());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("another recipe"));
  }
  EXPECT_EQ(files().size(), 1u);
}

}  // namespace
}  // namespace simile
