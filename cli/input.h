// SPDX-License-Identifier: Apache-2.0
// Texts and files of evaluations given to a command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "simile/data/text_list.h"
#include "simile/eval/task.h"

namespace simile::cli {

// The texts of a file, or of stdin for "-". A signal ends waiting for them:
// ErrorKind::kInterrupted.
TextListReader open_texts(const std::string& input, const std::string& encoding = "");

// Errors (ErrorKind::kInput): reading ended without a text.
void check_any_text(int64_t texts, const ReadReport& report);

// Tells what reading met that a user should know.
void warn_about(const ReadReport& report, Terminal& terminal);

// Whether a --task is a file of evaluations (`tasks:`), by its ending: .yaml, .yml or .json.
bool is_task_file(const std::string& task);

// In the order to report. Errors: those of load_recipe(); kRecipe for a file without any.
std::vector<EvaluationOptions> read_task_file(const std::string& path,
                                              const std::vector<std::string>& overrides = {});

}  // namespace simile::cli
