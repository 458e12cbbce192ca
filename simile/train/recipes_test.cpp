// SPDX-License-Identifier: Apache-2.0
// The recipes of the source tree say what the options are called today.
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/train/train_options.h"

namespace simile {
namespace {

TEST(Recipes, AreReadAndPassTheChecksThatNeedNoData) {
  int recipes = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(SIMILE_SOURCE_DIR "/recipes")) {
    if (file.path().extension() != ".yaml") continue;
    const ConfigNode node = load_config(file.path());
    if (node.find("stages") == nullptr) continue;  // a task file, or a recipe of pre-training
    ++recipes;
    TrainOptions options;
    try {
      read_options(node, options);
      check_train_options(options);
    } catch (const Error& error) {
      ADD_FAILURE() << file.path() << ": " << error.what();
    }
  }
  EXPECT_GT(recipes, 60);
}

}  // namespace
}  // namespace simile
