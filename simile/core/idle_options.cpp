// SPDX-License-Identifier: Apache-2.0
#include "simile/core/idle_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

const Json* find_place(const Json& json, const std::string& name) {
  std::string pointer = "/" + name;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  const Json::json_pointer place(pointer);
  return json.contains(place) ? &json.at(place) : nullptr;
}

// The options at and below a place whose value is another than their default.
void add_changed(const Json& value, const Json* standard, const std::string& name,
                 std::vector<std::string>& names) {
  if (standard != nullptr && value == *standard) return;
  if (!value.is_object()) {
    names.push_back(name);
    return;
  }
  for (const auto& [key, member] : value.items()) {
    const bool is_known = standard != nullptr && standard->contains(key);
    add_changed(member, is_known ? &standard->at(key) : nullptr, name + "." + key, names);
  }
}

}  // namespace

std::string IdleOptions::to_line() const {
  return fmt::format("`{}` {} nothing {}", fmt::join(names, "`, `"),
                     names.size() == 1 ? "does" : "do", reason);
}

std::vector<IdleOptions> find_idle_options(const OptionVisitor::Members& members,
                                           const OptionVisitor::Members& untouched,
                                           const std::vector<IdleRule>& rules) {
  const Json given = Json::parse(option_members_to_json(members));
  const Json defaults = Json::parse(option_members_to_json(untouched));
  std::vector<IdleOptions> found;
  for (const IdleRule& rule : rules) {
    if (!rule.applies) continue;
    IdleOptions idle{{}, rule.reason};
    for (const std::string& name : rule.options) {
      const Json* value = find_place(given, name);
      if (value != nullptr) add_changed(*value, find_place(defaults, name), name, idle.names);
    }
    if (!idle.names.empty()) found.push_back(std::move(idle));
  }
  return found;
}

void refuse_idle_options(const std::string& place, const std::vector<IdleOptions>& found) {
  if (found.empty()) return;
  throw Error(ErrorKind::kRecipe, fmt::format("{}{}; remove {}", place, found[0].to_line(),
                                              found[0].names.size() == 1 ? "it" : "them"));
}

}  // namespace simile
