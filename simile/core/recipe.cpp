// SPDX-License-Identifier: Apache-2.0
#include "simile/core/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariantKey = "variant";
constexpr const char* kVariant = "variant=";
constexpr const char* kData = "$data/";

void apply_variant(ConfigNode& recipe, const std::string& name) {
  const ConfigNode* variants = recipe.find("variants");
  const ConfigNode* found = variants == nullptr ? nullptr : variants->find(name);
  SIMILE_CHECK(found != nullptr, ErrorKind::kRecipe,
               fmt::format("{}: there is no variant '{}'; the recipe has [{}]", recipe.source, name,
                           fmt::join(recipe_variants(recipe), ", ")));
  const ConfigNode variant = *found;  // the recipe is changed below
  for (const auto& [key, value] : variant.members) apply_override(recipe, key, value);
  const ConfigNode* run = recipe.find("name");
  if (run == nullptr || variant.find("name") != nullptr) return;
  apply_override(recipe, fmt::format("name={}-{}", run->scalar, name));
}

// A path keeps the place it starts from: that of `data`, the recipe or the command line.
void place_in_data(ConfigNode& node, const ConfigNode* data) {
  if (node.kind == ConfigNode::Kind::kScalar && starts_with(node.scalar, kData)) {
    SIMILE_CHECK(data != nullptr && !data->scalar.empty(), ErrorKind::kRecipe,
                 fmt::format("{}: '{}' stands in the folder `data`, which the recipe does not "
                             "give; set data=FOLDER",
                             node.where(), node.scalar));
    node.scalar = fmt::format("{}/{}", data->scalar, node.scalar.substr(std::string(kData).size()));
    node.source = data->source;
  }
  for (ConfigNode& item : node.items) place_in_data(item, data);
  for (auto& member : node.members) place_in_data(member.second, data);
}

void remove(ConfigNode& recipe, const std::string& name) {
  auto& members = recipe.members;
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&name](const auto& member) { return member.first == name; }),
                members.end());
}

// A table of texts in a recipe's place would be told of as bad YAML.
void check_is_recipe(const std::string& path) {
  for (const char* ending : {".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".csv.gz", ".tsv.gz"}) {
    SIMILE_CHECK(
        !ends_with(path, ending), ErrorKind::kRecipe,
        fmt::format(
            "'{0}' is data, and what is given here is a recipe (.yaml) that names it, with "
            "lines such as `model: simile-mini-2` and `stages: {{objectives: {{data: {{path: "
            "{0}, left: COLUMN, right: COLUMN}}, loss: mnrl}}}}`; docs/tutorial.md has one "
            "to copy",
            path));
  }
}

void check_form(const ConfigNode& recipe) {
  const bool is_list = recipe.kind == ConfigNode::Kind::kList;
  const bool is_text = recipe.kind == ConfigNode::Kind::kScalar && !recipe.scalar.empty();
  SIMILE_CHECK(!is_list && !is_text, ErrorKind::kRecipe,
               fmt::format("{}: expected lines such as `model: simile-mini`, a map of options, "
                           "found {}; is it a recipe?",
                           recipe.source, is_list ? "a list" : "plain text"));
}

void check_data(const std::string& recipe, const ConfigNode& data) {
  if (data.scalar.empty() && data.items.empty() && data.members.empty()) return;
  SIMILE_CHECK(data.kind == ConfigNode::Kind::kScalar, ErrorKind::kRecipe,
               fmt::format("{}: `data` should be one folder, that of the files named $data/...",
                           data.where()));
  const std::string folder = resolved_path(data);
  SIMILE_CHECK(folder_exists(folder), ErrorKind::kInput,
               fmt::format("{}: `data: {}`{} is no folder: there is none at '{}'; set data=FOLDER",
                           data.line > 0 ? data.where() : recipe, data.scalar,
                           data.line > 0 ? "" : " from the command line", folder));
}

}  // namespace

std::string resolved_path(const ConfigNode& node) {
  const fs::path base = file_exists(node.source) ? fs::path(node.source).parent_path() : fs::path();
  return fs::absolute(base / node.scalar).lexically_normal().string();
}

void apply_recipe_override(ConfigNode& recipe, const std::string& key, const ConfigNode& value) {
  if (key != kVariantKey) {
    apply_override(recipe, key, value);
    return;
  }
  if (!value.scalar.empty()) apply_variant(recipe, value.scalar);
  for (const ConfigNode& name : value.items) apply_variant(recipe, name.scalar);
}

ConfigNode load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                       DataFolder folder) {
  check_is_recipe(path);
  ConfigNode recipe = load_config(path);
  check_form(recipe);
  for (const std::string& assignment : overrides) {
    if (starts_with(assignment, kVariant)) {
      apply_variant(recipe, assignment.substr(std::string(kVariant).size()));
    } else {
      apply_override(recipe, assignment);
    }
  }
  return finish_recipe(std::move(recipe), path, folder);
}

ConfigNode finish_recipe(ConfigNode recipe, const std::string& name, DataFolder folder) {
  remove(recipe, "variants");
  remove(recipe, "tune");
  const ConfigNode* found = recipe.find("data");
  const bool found_data = found != nullptr;
  const ConfigNode data = found_data ? *found : ConfigNode();
  remove(recipe, "data");
  if (found_data && folder == DataFolder::kMustExist) check_data(name, data);
  place_in_data(recipe, found_data ? &data : nullptr);
  return recipe;
}

std::vector<std::string> recipe_variants(const ConfigNode& recipe) {
  std::vector<std::string> names;
  const ConfigNode* variants = recipe.find("variants");
  if (variants == nullptr) return names;
  for (const auto& member : variants->members) names.push_back(member.first);
  return names;
}

}  // namespace simile
