// SPDX-License-Identifier: Apache-2.0
#include "cli/task_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/recipe.h"

namespace simile::cli {
namespace {

struct TaskFile {
  std::vector<EvaluationOptions> tasks;
  void visit(OptionVisitor& v) { v.list("tasks", tasks, "evaluations, in the order to report"); }
};

}  // namespace

bool is_task_file(const std::string& task) {
  const std::string ending = std::filesystem::path(task).extension().string();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

std::vector<EvaluationOptions> read_task_file(const std::string& path,
                                              const std::vector<std::string>& overrides) {
  TaskFile file;
  read_options(load_recipe(path, overrides), file);
  SIMILE_CHECK(!file.tasks.empty(), ErrorKind::kRecipe, fmt::format("'{}' lists no `tasks`", path));
  return file.tasks;
}

}  // namespace simile::cli
