// SPDX-License-Identifier: Apache-2.0
#include "simile/core/error.h"

#include <gtest/gtest.h>

#include <vector>

namespace simile {
namespace {

TEST(Error, KindsHaveTheExitCodesOfTheCommandLine) {
  EXPECT_EQ(exit_code(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code(ErrorKind::kRecipe), 2);
  EXPECT_EQ(exit_code(ErrorKind::kInput), 3);
  EXPECT_EQ(exit_code(ErrorKind::kIo), 1);
  EXPECT_EQ(exit_code(ErrorKind::kFailed), 1);
}

TEST(EditDistance, CountsSingleCharacterEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
}

TEST(NearestName, SuggestsOnlyWhatCouldBeMeant) {
  const std::vector<std::string> names = {"epochs", "batch_size", "loss"};
  EXPECT_EQ(nearest_name("epoch", names), "epochs");
  EXPECT_EQ(nearest_name("batchsize", names), "batch_size");
  EXPECT_EQ(nearest_name("temperature", names), "");
}

}  // namespace
}  // namespace simile
