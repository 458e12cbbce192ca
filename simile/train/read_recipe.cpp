// SPDX-License-Identifier: Apache-2.0
#include "simile/train/read_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "simile/core/file.h"
#include "simile/report/recipe_changes.h"
#include "simile/report/run_folder.h"
#include "simile/train/fold_runs.h"

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

const ObjectiveOptions* first_objective_of(const TrainOptions& options, const std::string& head) {
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      if (objective.head == head && objective.data.format == "classes") return &objective;
    }
  }
  return nullptr;
}

}  // namespace

TrainOptions read_recipe(const ConfigNode& recipe, EventSink& events) {
  TrainOptions options;
  read_options(without_environment(recipe), options);
  apply_folds(options);
  fill_class_names(options, events);
  check_train_options(options);
  return options;
}

void fill_class_names(TrainOptions& options, EventSink& events) {
  for (HeadSettings& head : options.heads) {
    if (head.output != "classes" || !head.class_names.empty()) continue;
    const ObjectiveOptions* objective = first_objective_of(options, head.name);
    if (objective == nullptr) continue;
    head.class_names = read_pairs(objective->data).class_names;
    events.info(fmt::format("the head '{}' has the {} classes of {}", head.name,
                            head.class_names.size(), objective->data.file()));
  }
}

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
