// SPDX-License-Identifier: Apache-2.0
// The recipes of the source tree, with each of their variants, say what the options are called
// today and read what a clone has. tests/recipes_test.cpp runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/task.h"
#include "simile/loss/loss.h"
#include "simile/train/option_rules.h"
#include "simile/train/train_options.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kRecipes = SIMILE_SOURCE_DIR "/recipes";

struct TaskFile {
  std::vector<EvaluationOptions> tasks;
  void visit(OptionVisitor& v) { v.list("tasks", tasks, "evaluations"); }
};

template <typename T>
std::string checked(const ConfigNode& node, void (*check)(const T&)) {
  T options;
  read_options(node, options);
  if (check != nullptr) check(options);
  return options_to_json(options);
}

// The options of a recipe of any kind, checked without the data.
std::string options_of(const ConfigNode& node) {
  if (node.find("stages") != nullptr) return checked<TrainOptions>(node, check_train_options);
  if (node.find("corpus") != nullptr) return checked<PretrainOptions>(node, check_pretrain_options);
  return checked<TaskFile>(node, nullptr);
}

class Recipes : public ::testing::Test {
 protected:
  Recipes() {
    for (const auto& file : fs::recursive_directory_iterator(kRecipes)) {
      if (file.path().extension() != ".yaml") continue;
      // Tables, which hold recipes of other sets, and searches of a recipe are simile/experiment's.
      if (file.path().parent_path().filename() == "tables") continue;
      if (load_config(file.path().string()).find("tune") != nullptr) continue;
      files_.push_back(file.path().string());
    }
  }

  // The variants that replace the shipped data set by a public one, or the other variants.
  static std::vector<std::string> variants(const std::string& file, bool with_other_data) {
    const ConfigNode node = load_config(file);
    std::vector<std::string> names;
    for (const std::string& name : recipe_variants(node)) {
      const bool has_other_data = node.find("variants")->find(name)->find("data") != nullptr;
      if (has_other_data == with_other_data) names.push_back("variant=" + name);
    }
    return names;
  }

  static std::string read(const std::string& file, const std::vector<std::string>& overrides) {
    try {
      return options_of(load_recipe(file, overrides, DataFolder::kMayBeMissing));
    } catch (const Error& error) {
      ADD_FAILURE() << file << " " << ::testing::PrintToString(overrides) << ": " << error.what();
      return "{}";
    }
  }

  std::vector<std::string> files_;
};

// Every path in `options` is one of the source tree.
void expect_files_of_the_tree(const nlohmann::json& options, const std::string& where) {
  if (options.is_structured()) {
    for (const auto& value : options) expect_files_of_the_tree(value, where);
  } else if (options.is_string()) {
    const auto text = options.get<std::string>();
    if (text.empty() || text[0] != '/') return;
    EXPECT_THAT(text, StartsWith(SIMILE_SOURCE_DIR "/")) << where;
    EXPECT_TRUE(fs::exists(text)) << where << ": " << text;
  }
}

TEST_F(Recipes, ReadWhatACloneHas) {
  std::string all;
  for (const std::string& file : files_) {
    std::vector<std::string> runs = variants(file, false);
    runs.emplace_back("seed=1");
    if (load_config(file).find("tasks") != nullptr) runs = {"tasks.0.name=first"};
    for (const std::string& run : runs) {
      all += read(file, {run});
      expect_files_of_the_tree(nlohmann::json::parse(read(file, {run})), file + " " + run);
    }
  }
  for (const LossRow& row : loss_table()) {
    EXPECT_THAT(all, HasSubstr(std::string("\"") + row.name + "\"")) << "no recipe for this loss";
  }
}

TEST_F(Recipes, PassTheChecksOnOtherData) {
  for (const std::string& file : files_) {
    for (const std::string& data : variants(file, true)) {
      read(file, {data});
      for (const std::string& method : variants(file, false)) read(file, {data, method});
    }
  }
}

TEST_F(Recipes, AreFewAndListedWithTheirVariants) {
  EXPECT_LE(files_.size(), 22U);
  const std::string list = read_file(kRecipes + "/README.md");
  for (const std::string& file : files_) {
    const std::string name = fs::relative(file, kRecipes).string();
    const size_t row = list.find("| [" + name + "](" + name + ")");
    ASSERT_NE(row, std::string::npos) << name;
    for (const std::string& variant : recipe_variants(load_config(file))) {
      EXPECT_THAT(list.substr(row, list.find('\n', row) - row), HasSubstr("`" + variant + "`"))
          << name;
    }
  }
}

}  // namespace
}  // namespace simile
