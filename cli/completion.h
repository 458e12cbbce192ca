// SPDX-License-Identifier: Apache-2.0
// What shells complete `simile` with: commands, their options, and the values an option allows; in
// any other place files.
#pragma once

#include <string>

#include "cli/command_list.h"

namespace simile::cli {

// The script for bash, zsh or fish.
std::string completion(const CommandList& list, const std::string& shell);

}  // namespace simile::cli
