// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/recipe_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/config.h"
#include "simile/core/file.h"

namespace simile {
namespace {

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
