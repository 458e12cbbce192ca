// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/report/detail/html.h"
#include "simile/report/detail/html_parts.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

// The same place in the recipe of each run; null where a run has nothing there.
using Places = std::vector<const Json*>;

std::string difference_row(const std::string& key, const Places& places) {
  std::string row = "<tr><th scope=\"row\"><code>" + escape_html(key) + "</code></th>";
  for (const Json* value : places) {
    const std::string shown = value == nullptr     ? "\u2013"
                              : value->is_string() ? value->get<std::string>()
                                                   : value->dump();
    row += "<td>" + escape_shortened(shown, 120) + "</td>";
  }
  return row + "</tr>\n";
}

// A member by its name, or an element by its number.
const Json* find_member(const Json& json, const std::string& name) {
  if (json.is_object()) return json.contains(name) ? &json.at(name) : nullptr;
  const size_t place = std::stoul(name);
  return place < json.size() ? &json.at(place) : nullptr;
}

// Rows of a table of what differs, as "stages.0.loss.name"; a part that some runs lack is one row.
std::string difference_rows(const std::string& key, const Places& places) {
  const auto all = [&places](const auto& has) {
    return std::all_of(places.begin(), places.end(),
                       [&has](const Json* value) { return value != nullptr && has(*value); });
  };
  if (all([&places](const Json& value) { return value == *places[0]; })) return "";
  const bool objects = all([](const Json& value) { return value.is_object(); });
  if (!objects && !all([](const Json& value) { return value.is_array(); })) {
    return difference_row(key, places);
  }
  std::vector<std::string> names;
  for (const Json* value : places) {
    for (const auto& member : value->items()) {
      const bool seen = std::find(names.begin(), names.end(), member.key()) != names.end();
      if (!seen) names.push_back(member.key());
    }
  }
  std::string rows;
  for (const std::string& name : names) {
    Places members;
    for (const Json* value : places) {
      members.push_back(find_member(*value, name));
    }
    rows += difference_rows(key.empty() ? name : key + "." + name, members);
  }
  return rows;
}

// Empty when all recipes are the same.
std::string difference_table(const std::vector<ShownRun>& runs, const std::vector<Json>& recipes) {
  Places places;
  for (const Json& recipe : recipes) places.push_back(&recipe);
  const std::string rows = difference_rows("", places);
  if (rows.empty()) return "";
  std::string head;
  for (const ShownRun& run : runs) head += "<th>" + show_run_name(run) + "</th>";
  return "<div class=\"wide\"><table>\n<tr><th></th>" + head + "</tr>\n" + rows +
         "</table></div>\n";
}

}  // namespace

std::string recipe_part(const std::vector<ShownRun>& runs) {
  std::string details;
  std::vector<Json> recipes;
  for (const ShownRun& run : runs) {
    const std::string& recipe = run.set.runs[0].recipe;
    recipes.push_back(recipe.empty() ? Json::object() : Json::parse(recipe));
    if (recipe.empty()) continue;
    details += "<details><summary>" + show_run_name(run) + "</summary><pre>" + escape_html(recipe) +
               "</pre></details>\n";
  }
  if (details.empty() || runs.size() < 2) return details;
  const std::string differences = difference_table(runs, recipes);
  return (differences.empty() ? "<p>The recipes are the same.</p>\n"
                              : "<h3>What differs</h3>\n" + differences) +
         details;
}

std::string environment_part(const std::vector<ShownRun>& runs) {
  std::vector<std::string> names;
  for (const ShownRun& run : runs) {
    for (const auto& [name, value] : run.set.runs[0].environment) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  std::string html = "<div class=\"wide\"><table>\n<tr><th></th>";
  for (const ShownRun& run : runs) html += "<th>" + show_run_name(run) + "</th>";
  html += "</tr>\n";
  for (const std::string& name : names) {
    html += "<tr><th scope=\"row\">" + escape_html(name) + "</th>";
    for (const ShownRun& run : runs) {
      std::string shown = "\u2013";
      for (const auto& [key, value] : run.set.runs[0].environment) {
        if (key == name) shown = escape_html(value);
      }
      html += "<td>" + shown + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace simile
