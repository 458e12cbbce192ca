// SPDX-License-Identifier: Apache-2.0
// Texts and files of evaluations given to a command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "simile/data/text_list.h"
#include "simile/eval/task.h"
#include "simile/index/search_request.h"

namespace simile::cli {

// For a line of a table: with U+FFFD for control characters (C0, DEL, C1), which a terminal would
// obey, and spaces for those that only separate words.
std::string on_one_line(std::string_view text);

// How many documents were found, and those by their metadata, a line each.
std::string show_counts(const CountReply& counts);

// The texts of a file, or of stdin for "-". A signal ends waiting for them:
// ErrorKind::kInterrupted.
TextListReader open_texts(const std::string& input, const std::string& encoding = "");

// Errors (ErrorKind::kUsage): an output is an input or a part of a run, or two outputs are one file.
// Empty names and "-" stand for no file; an input with a * for every file that fits, a folder for
// itself and all it holds.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// The paths of a ranking set, for check_outputs(); of its folder only what it takes a set from, so
// that results may be kept in there.
std::vector<std::string> paths_of(const RankingDataOptions& options);

// Errors (ErrorKind::kInput): reading ended without a text.
void check_any_text(int64_t texts, const ReadReport& report);

// Warns the user of problems met while reading.
void warn_about(const ReadReport& report, Terminal& terminal);

// Whether a --task is a file of evaluations (`tasks:`), by its ending: .yaml, .yml or .json.
bool is_task_file(const std::string& task);

// In the order to report. Errors: those of load_recipe(); kRecipe for a file without any.
std::vector<EvaluationOptions> read_task_file(const std::string& path,
                                              const std::vector<std::string>& overrides = {});

}  // namespace simile::cli
