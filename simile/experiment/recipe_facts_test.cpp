// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/recipe_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
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

using ::testing::HasSubstr;

constexpr const char* kRecipe = R"(
name: "odd: name"
model: /models/one
stages:
  - {objectives: [{data: {path: /data/a.tsv, score: ''}, loss: mnrl}], epochs: 2}
  - {name: next, objectives: [{data: {path: /data/b.tsv}, loss: {name: bsc}}], learning_rate: 1e-5}
evaluations: {name: dev, task: sts, data: /data/dev.tsv, metrics: [spearman]}
baselines: []
)";

ConfigNode recipe() { return finish_recipe(parse_config(kRecipe, "recipe.yaml"), "recipe.yaml"); }

TrainOptions options_of(const ConfigNode& node) {
  TrainOptions options;
  read_options(node, options);
  return options;
}

TEST(FindOptions, FollowsStarsNumbersAndTheFirstItem) {
  const TrainOptions options = options_of(recipe());
  const auto found = find_options(options, "stages.*.epochs");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].is_number && !found[0].is_whole);
  EXPECT_EQ(found[0].number, 2);
  EXPECT_EQ(find_options(options, "stages.1.learning_rate")[0].number, 1e-5);
  EXPECT_TRUE(find_options(options, "stages.objectives.batch_size")[0].is_whole);
  EXPECT_EQ(find_options(options, "stages.*.objectives.*.loss")[0].kind, "a name or text");
  EXPECT_EQ(find_options(options, "stages.*.frozen")[0].kind, "true or false");
  EXPECT_EQ(find_options(options, "stages")[0].kind, "a group of options");
  EXPECT_EQ(find_options(options, "baselines")[0].kind, "a list of names");
  EXPECT_TRUE(find_options(options, "stages.*.speed").empty());
  EXPECT_TRUE(find_options(options, "stages.*").empty());
}

TEST(RecipeToYaml, IsTheSameRecipeWithPathsRelativeToItsFolder) {
  const ScratchFolder scratch("simile-yaml-test");
  const std::string folder = join_path(scratch.path(), "search");
  make_folders(folder);
  ConfigNode given = recipe();
  apply_override(given, "stages.1.objectives.0.data.path=" + join_path(scratch.path(), "b.tsv"));
  const std::string yaml = recipe_to_yaml(given, folder);
  EXPECT_THAT(yaml, HasSubstr("path: ../b.tsv"));
  const std::string best = join_path(folder, "best.yaml");
  write_file_atomic(best, yaml);
  TrainOptions before = options_of(given), after = options_of(load_recipe(best, {}));
  EXPECT_EQ(options_to_json(after), options_to_json(before));
}

}  // namespace
}  // namespace simile
