// SPDX-License-Identifier: Apache-2.0
#include "simile/train/resume_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "simile/core/file.h"
#include "simile/report/recipe_changes.h"
#include "simile/report/run_folder.h"

namespace simile {
namespace {

constexpr size_t kShownChanges = 10;

std::string run_file(const std::string& folder) { return join_path(folder, "run.json"); }

// Beside `folder`, runs whose names begin with its own.
std::vector<std::string> runs_of_variants(const std::string& folder) {
  const std::filesystem::path path(folder);
  const std::string prefix = path.filename().string() + "-";
  std::vector<std::string> runs;
  std::error_code ignored;
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) != 0 || !file_exists(run_file(entry.path().string()))) continue;
    runs.push_back((path.parent_path() / name).string());
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

std::optional<ConfigNode> read_resumed_recipe(const std::string& folder, EventSink& events) {
  if (!file_exists(run_file(folder))) {
    const std::vector<std::string> others = runs_of_variants(folder);
    if (!others.empty()) {
      events.warning(
          fmt::format("'{}' holds no run to go on with, and one begins there; there are {}: a "
                      "variant's run goes on with `simile train FOLDER --resume`",
                      folder, fmt::join(others, ", ")));
    }
    return std::nullopt;
  }
  try {
    ConfigNode recipe = without_environment(load_config(run_file(folder)));
    if (!recipe.members.empty()) return recipe;  // else a file that a crash left empty
  } catch (const Error&) {                       // it cannot be read
  }
  return std::nullopt;
}

void check_same_recipe(const std::string& folder, const std::string& begun,
                       const std::string& given) {
  std::vector<std::string> shown;
  const std::vector<RecipeChange> changes = find_recipe_changes(begun, given);
  if (changes.empty()) return;
  for (const RecipeChange& change : changes) {
    if (shown.size() == kShownChanges) break;
    shown.push_back(fmt::format("{} {}, now {}", change.key, change.before, change.after));
  }
  const size_t rest = changes.size() - shown.size();
  throw Error(
      ErrorKind::kUsage,
      fmt::format("the run in '{0}' was begun with other options than the recipe and the command "
                  "line give now: {1}{2}; `simile train {0} --resume` goes on with those it was "
                  "begun with, --overwrite or another --output begins with those given now",
                  folder, fmt::join(shown, "; "),
                  rest > 0 ? fmt::format("; and {} more", rest) : ""));
}

}  // namespace simile
