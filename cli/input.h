// SPDX-License-Identifier: Apache-2.0
// Texts given to a command.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal.h"
#include "simile/data/text_list.h"

namespace simile::cli {

// The texts of a file, or of stdin for "-". A signal ends waiting for them:
// ErrorKind::kInterrupted.
TextListReader open_texts(const std::string& input);

// Errors (ErrorKind::kInput): reading ended without a text.
void check_any_text(int64_t texts, const ReadReport& report);

// Tells what reading met that a user should know.
void warn_about(const ReadReport& report, Terminal& terminal);

}  // namespace simile::cli
