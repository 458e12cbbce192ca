// SPDX-License-Identifier: Apache-2.0
// Every recipe, with every variant that needs no other data, trains on what a clone has: two steps
// of small batches. That the other variants can be read is simile/train/recipes_test.cpp's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "simile/core/recipe.h"
#include "simile/data/detail/test_files.h"
#include "simile/model/model_folder.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

struct Run {
  std::string recipe, variant;  // variant: empty for the recipe as it stands
};

void PrintTo(const Run& run, std::ostream* out) { *out << run.recipe << " " << run.variant; }

std::vector<Run> runs() {
  std::vector<Run> runs;
  for (const auto& file : fs::recursive_directory_iterator(SIMILE_SOURCE_DIR "/recipes")) {
    if (file.path().extension() != ".yaml") continue;
    const ConfigNode recipe = load_config(file.path());
    if (recipe.find("tasks") != nullptr) continue;  // read by `simile evaluate`
    runs.push_back({file.path(), ""});
    for (const std::string& variant : recipe_variants(recipe)) {
      const bool has_other_data = recipe.find("variants")->find(variant)->find("data") != nullptr;
      if (!has_other_data) runs.push_back({file.path(), variant});
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tie(a.recipe, a.variant) < std::tie(b.recipe, b.variant);
  });
  return runs;
}

// The items of a list, of which one may stand for itself.
std::vector<ConfigNode*> items(ConfigNode& node, const std::string& name) {
  std::vector<ConfigNode*> found;
  for (auto& [key, value] : node.members) {
    if (key != name) continue;
    if (value.kind != ConfigNode::Kind::kList) return {&value};
    for (ConfigNode& item : value.items) found.push_back(&item);
  }
  return found;
}

using Assignments = std::vector<std::string>;

void set(ConfigNode& node, const Assignments& assignments) {
  for (const std::string& assignment : assignments) apply_override(node, assignment);
}

void shorten(ConfigNode& recipe) {
  for (ConfigNode* stage : items(recipe, "stages")) {
    set(*stage, {"steps=2"});
    for (ConfigNode* objective : items(*stage, "objectives")) {
      set(*objective, {"batch_size=16", "max_length=24"});
      if (objective->find("dev") != nullptr) set(*objective, {"dev.limit=24"});
      if (objective->find("chunk_tokens") != nullptr) set(*objective, {"chunk_tokens=64"});
    }
  }
  for (ConfigNode* evaluation : items(recipe, "evaluations")) {
    const bool is_ranking = evaluation->find("task")->scalar == "ranking";
    set(*evaluation,
        is_ranking ? Assignments{"limit_queries=8", "candidates=judged"} : Assignments{"limit=24"});
  }
  set(recipe, {"tests=[]", "baselines=[]"});
}

// A stage from simile-mini writes 140 MB; a variant, or several stages, may as well start from
// random weights, unless their vectors need the size of simile-mini's.
void start_small(ConfigNode& recipe, const std::string& variant) {
  const bool is_one_stage = items(recipe, "stages").size() == 1;
  if (is_one_stage && (variant.empty() || variant == "matryoshka" || variant == "rcl")) return;
  set(recipe, {"model=", "architecture={layers: 1, hidden: 64, heads: 2, intermediate: 64}",
               "tokenizer=" SIMILE_SOURCE_DIR "/models/simile-mini"});
}

class EachRecipe : public ::testing::TestWithParam<Run>, protected TestFiles {};

TEST_P(EachRecipe, RunsAfterAClone) {
  Assignments overrides;
  if (!GetParam().variant.empty()) overrides.push_back("variant=" + GetParam().variant);
  ConfigNode recipe = load_recipe(GetParam().recipe, overrides);
  const bool is_training = recipe.find("stages") != nullptr;
  if (is_training) {
    shorten(recipe);
    start_small(recipe, GetParam().variant);
  } else {
    set(recipe, {"steps=2", "batch_tokens=256", "held_out.limit=8"});
  }
  const TrainResult result =
      (is_training ? train : pretrain)(recipe, path("run"), false, false, silent_events());
  EXPECT_TRUE(fs::exists(open_model_folder(result.model_path, silent_events()).weights_path));
}

std::string name_of(const ::testing::TestParamInfo<Run>& info) {
  std::string name = fs::path(info.param.recipe).stem().string() + "_" + info.param.variant;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recipes, EachRecipe, ::testing::ValuesIn(runs()), name_of);

}  // namespace
}  // namespace simile
