// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/fingerprint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

TEST(ContentHashes, LinkedFoldersCountAsTheirFiles) {
  const TestFiles files;
  namespace fs = std::filesystem;
  const auto hash = [&] { return ContentHashes().of(files.path("data")); };
  fs::create_directories(files.path("data"));
  fs::create_directories(files.path("elsewhere/deeper"));
  files.write("data/a.tsv", "1");
  const std::string alone = hash();
  files.write("elsewhere/deeper/b.tsv", "2");
  fs::create_directory_symlink(files.path("elsewhere"), files.path("data/linked"));
  const std::string linked = hash();
  EXPECT_NE(linked, alone);
  files.write("elsewhere/deeper/b.tsv", "3");
  EXPECT_NE(hash(), linked);
  files.write("elsewhere/deeper/b.tsv", "2");
  EXPECT_EQ(hash(), linked);
  fs::create_directory_symlink(files.path("data"), files.path("elsewhere/deeper/back"));
  EXPECT_EQ(hash(), linked);  // and ends
}

TEST(RecipeFingerprint, IsOfTheRecipeAsItIsWritten) {
  const RecipeInputs inputs;
  const auto of = [&](const std::string& recipe) {
    return recipe_fingerprint(parse_config(recipe, "recipe.yaml"), inputs);
  };
  EXPECT_EQ(of("{seed: 1, stages: [a, b]}"), of("{stages: [a, b], seed: 1}"));
  EXPECT_NE(of("{seed: 1, stages: [a, b]}"), of("{seed: 1, stages: [b, a]}"));
}

}  // namespace
}  // namespace simile
