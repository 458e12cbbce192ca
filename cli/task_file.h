// SPDX-License-Identifier: Apache-2.0
// A file of evaluations, `tasks:`, for the commands that measure models.
#pragma once

#include <string>
#include <vector>

#include "simile/eval/task.h"

namespace simile::cli {

// Whether a --task is such a file, by its ending: .yaml, .yml or .json.
bool is_task_file(const std::string& task);

// In the order to report. Errors: those of load_recipe(); kRecipe for a file without any.
std::vector<EvaluationOptions> read_task_file(const std::string& path,
                                              const std::vector<std::string>& overrides = {});

}  // namespace simile::cli
