// SPDX-License-Identifier: Apache-2.0
#include "simile/core/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

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

void check_form(const ConfigNode& recipe) {
  const bool is_list = recipe.kind == ConfigNode::Kind::kList;
  const bool is_text = recipe.kind == ConfigNode::Kind::kScalar && !recipe.scalar.empty();
  SIMILE_CHECK(!is_list && !is_text, ErrorKind::kRecipe,
               fmt::format("{}: expected lines such as `model: simile-mini`, a map of options, "
                           "found {}; is it a recipe?",
                           recipe.source, is_list ? "a list" : "plain text"));
}

}  // namespace

ConfigNode load_recipe(const std::string& path, const std::vector<std::string>& overrides) {
  ConfigNode recipe = load_config(path);
  check_form(recipe);
  for (const std::string& assignment : overrides) {
    if (starts_with(assignment, kVariant)) {
      apply_variant(recipe, assignment.substr(std::string(kVariant).size()));
    } else {
      apply_override(recipe, assignment);
    }
  }
  remove(recipe, "variants");
  const ConfigNode* found = recipe.find("data");
  const ConfigNode data = found == nullptr ? ConfigNode() : *found;
  remove(recipe, "data");
  place_in_data(recipe, found == nullptr ? nullptr : &data);
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
