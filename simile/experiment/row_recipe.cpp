// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "simile/core/file.h"
#include "simile/experiment/paper_table.h"

namespace simile {
namespace {

// A variant first, wherever it stands: the other values are put into what it makes of the recipe.
void put_members(const ConfigNode& values, ConfigNode& recipe) {
  const auto put = [&](bool variants) {
    for (const auto& [key, value] : values.members) {
      if ((key == "variant") == variants) apply_recipe_override(recipe, key, value);
    }
  };
  put(true);
  put(false);
}

void put_values(const TableValues& values, const std::string& set, ConfigNode& recipe) {
  put_members(values.all, recipe);
  const auto found = values.of_set.find(set);
  if (found != values.of_set.end()) put_members(found->second, recipe);
}

void put_text(ConfigNode& recipe, const char* key, const std::string& text) {
  ConfigNode value;
  value.kind = ConfigNode::Kind::kScalar;
  value.scalar = text;
  value.source = "command line";
  apply_override(recipe, key, value);
}

}  // namespace

ConfigNode row_recipe(const PaperTable& table, const TableRow& row, const std::string& set_name,
                      const TableSettings* settings, const std::string& model,
                      const std::string& data, DataFolder folder) {
  const TableSet& set = table.find_set(set_name);
  ConfigNode recipe = set.recipe;
  put_values(row.values, set_name, recipe);
  if (settings != nullptr) put_values(settings->values, set_name, recipe);
  if (!model.empty()) put_text(recipe, "model", model);
  if (!data.empty()) put_text(recipe, "data", join_path(data, set.folder));
  put_text(recipe, "name", fmt::format("{}-{}", table.name, row.name));
  return finish_recipe(std::move(recipe), set.source, folder);
}

}  // namespace simile
