// SPDX-License-Identifier: Apache-2.0
#include "simile/report/recipe_changes.h"

#include <nlohmann/json.hpp>

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

std::string show_value(const Json* value) {
  return value == nullptr ? "nothing" : value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A member by its name, or an element by its number.
const Json* find_part(const Json& json, const std::string& name) {
  if (json.is_object()) return json.contains(name) ? &json.at(name) : nullptr;
  const size_t place = std::stoul(name);
  return place < json.size() ? &json.at(place) : nullptr;
}

void add_changes(const std::string& key, const Json* before, const Json* after,
                 std::vector<RecipeChange>& changes) {
  if (before != nullptr && after != nullptr) {
    if (*before == *after) return;
    if (before->is_structured() && before->type() == after->type()) {
      const std::string prefix = key.empty() ? "" : key + ".";
      for (const auto& member : before->items()) {
        add_changes(prefix + member.key(), &member.value(), find_part(*after, member.key()),
                    changes);
      }
      for (const auto& member : after->items()) {
        if (find_part(*before, member.key()) != nullptr) continue;
        add_changes(prefix + member.key(), nullptr, &member.value(), changes);
      }
      return;
    }
  }
  changes.push_back({key, show_value(before), show_value(after)});
}

}  // namespace

std::vector<RecipeChange> find_recipe_changes(const std::string& before, const std::string& after) {
  const Json first = Json::parse(before), second = Json::parse(after);
  std::vector<RecipeChange> changes;
  add_changes("", &first, &second, changes);
  return changes;
}

}  // namespace simile
