// SPDX-License-Identifier: Apache-2.0
// What differs between two recipes of one kind.
#pragma once

#include <string>
#include <vector>

namespace simile {

struct RecipeChange {
  std::string key;            // "stages.0.epochs"
  std::string before, after;  // as JSON; "nothing" where one has no such key
};

// Between two recipes as JSON, whose keys are walked in the order of `before`; lists are compared
// element by element.
std::vector<RecipeChange> find_recipe_changes(const std::string& before, const std::string& after);

}  // namespace simile
