// SPDX-License-Identifier: Apache-2.0
#include "simile/report/recipe_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> changes(const std::string& before, const std::string& after) {
  std::vector<std::string> lines;
  for (const RecipeChange& change : find_recipe_changes(before, after)) {
    lines.push_back(change.key + ": " + change.before + " -> " + change.after);
  }
  return lines;
}

TEST(RecipeChanges, NameTheKeysThatDiffer) {
  const std::string recipe = R"({"seed": 1, "stages": [{"epochs": 5.0, "loss": {"name": "bsc"}}]})";
  EXPECT_THAT(changes(recipe, recipe), IsEmpty());
  EXPECT_THAT(
      changes(recipe, R"({"seed": 2, "stages": [{"epochs": 1.5, "loss": {"name": "mse"}}]})"),
      ElementsAre("seed: 1 -> 2", "stages.0.epochs: 5.0 -> 1.5",
                  "stages.0.loss.name: \"bsc\" -> \"mse\""));
}

TEST(RecipeChanges, OfWhatOneLacks) {
  EXPECT_THAT(changes(R"({"a": [1], "b": {"c": 1}})", R"({"a": [1, 2], "d": [], "b": {}})"),
              ElementsAre("a.1: nothing -> 2", "b.c: 1 -> nothing", "d: nothing -> []"));
  EXPECT_THAT(changes(R"({"a": [1]})", R"({"a": {"x": 1}})"), ElementsAre("a: [1] -> {\"x\":1}"));
}

}  // namespace
}  // namespace simile
