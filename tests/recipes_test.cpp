// SPDX-License-Identifier: Apache-2.0
// Every recipe, with every variant that needs no other data, trains on the data of a clone: two
// steps of small batches from small random weights; unchanged recipes from their own model too.
// That the other variants can be read is simile/train/recipes_test.cpp's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/model/model_folder.h"
#include "simile/train/read_recipe.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

struct Run {
  std::string recipe, variant;  // variant: empty for the recipe as it stands
};

void PrintTo(const Run& run, std::ostream* out) { *out << run.recipe << " " << run.variant; }

std::vector<Run> all_runs() {
  std::vector<Run> runs;
  for (const auto& file : fs::recursive_directory_iterator(SIMILE_SOURCE_DIR "/recipes")) {
    if (file.path().extension() != ".yaml") continue;
    const ConfigNode recipe = load_config(file.path());
    if (recipe.find("tasks") != nullptr) continue;  // read by `simile evaluate`
    if (recipe.find("rows") != nullptr) continue;   // a table, read by `simile reproduce`
    if (recipe.find("tune") != nullptr) continue;   // read by `simile tune`
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

// The items of a list; a single item may be given without a list.
std::vector<ConfigNode*> items(ConfigNode& node, const std::string& name) {
  std::vector<ConfigNode*> found;
  for (auto& [key, value] : node.members) {
    if (key != name) continue;
    if (value.kind != ConfigNode::Kind::kList) return {&value};
    for (ConfigNode& item : value.items) found.push_back(&item);
  }
  return found;
}

// The unchanged recipes of one stage.
std::vector<Run> short_runs() {
  std::vector<Run> runs = all_runs();
  const auto is_long = [](const Run& run) {
    ConfigNode recipe = load_config(run.recipe);
    return !run.variant.empty() || items(recipe, "stages").size() > 1;
  };
  runs.erase(std::remove_if(runs.begin(), runs.end(), is_long), runs.end());
  return runs;
}

using Assignments = std::vector<std::string>;

void set(ConfigNode& node, const Assignments& assignments) {
  for (const std::string& assignment : assignments) apply_override(node, assignment);
}

bool is_training(const ConfigNode& recipe) { return recipe.find("stages") != nullptr; }

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

class EachRecipe : public ::testing::TestWithParam<Run>, protected TestFiles {
 protected:
  EachRecipe() {
    // The first of the shipped pieces, common words among them.
    std::istringstream pieces(read_file(SIMILE_SOURCE_DIR "/models/simile-mini-3/vocab.txt"));
    std::string some, piece;
    for (int i = 0; i < 2000 && std::getline(pieces, piece); ++i) some += piece + "\n";
    write("vocab.txt", some);
  }

  // A run from simile-mini-3 writes 300 MB and more. Matryoshka's dimensions, RCL's second vectors
  // and the states of its tokens need the size of its vectors.
  void start_small(ConfigNode& recipe) const {
    const std::string& variant = GetParam().variant;
    const bool is_wide = variant == "matryoshka" || variant == "rcl" ||
                         GetParam().recipe.find("simile-mini-3/distill") != std::string::npos;
    set(recipe, {"architecture={layers: 1, heads: 2, intermediate: 64}",
                 is_wide ? "architecture.hidden=384" : "architecture.hidden=64",
                 "tokenizer=" + path("vocab.txt")});
    if (is_training(recipe)) set(recipe, {"model="});
  }

  void expect_runs(bool from_own_model) const {
    Assignments overrides;
    if (!GetParam().variant.empty()) overrides.push_back("variant=" + GetParam().variant);
    ConfigNode recipe = load_recipe(GetParam().recipe, overrides);
    if (!from_own_model) start_small(recipe);
    TrainResult result;
    if (is_training(recipe)) {
      shorten(recipe);
      result = train(read_recipe(recipe, silent_events()), path("run"), {}, silent_events());
    } else {
      set(recipe, {"steps=2", "batch_tokens=256", "held_out.limit=8"});
      result = pretrain(recipe, path("run"), false, false, silent_events());
    }
    EXPECT_TRUE(fs::exists(open_model_folder(result.model_path, silent_events()).weights_path));
  }
};

TEST_P(EachRecipe, RunsAfterAClone) { expect_runs(false); }

using EachRecipeSlow = EachRecipe;

TEST_P(EachRecipeSlow, RunsFromItsOwnModel) { expect_runs(true); }

std::string name_of(const ::testing::TestParamInfo<Run>& info) {
  std::string name = fs::path(info.param.recipe).stem().string() + "_" + info.param.variant;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recipes, EachRecipe, ::testing::ValuesIn(all_runs()), name_of);
INSTANTIATE_TEST_SUITE_P(Recipes, EachRecipeSlow, ::testing::ValuesIn(short_runs()), name_of);

}  // namespace
}  // namespace simile
