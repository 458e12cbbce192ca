// SPDX-License-Identifier: Apache-2.0
// The manual page simile(1), of the options that the parser knows.
#pragma once

#include <string>

#include "cli/command_list.h"

namespace simile::cli {

// For man(7).
std::string man_page(const CommandList& list, const std::string& version);

}  // namespace simile::cli
