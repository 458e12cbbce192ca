// SPDX-License-Identifier: Apache-2.0
// What shells complete `simile` with: commands, their options, and the values an option allows; in
// any other place files.
#pragma once

#include <string>
#include <vector>

#include "cli/command_list.h"

namespace simile::cli {

const std::vector<std::string>& completed_shells();  // bash, zsh, fish

// The script for one of them.
std::string completion(const CommandList& list, const std::string& shell);

}  // namespace simile::cli
