// SPDX-License-Identifier: Apache-2.0
// What was meant by a command line that was refused.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace simile::cli {

// Lines that end each with a newline, about the first word that is no command, option or argument,
// or an empty text: the nearest name, what sentence-transformers' users would call it, or where a
// value is given here.
std::string suggest(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace simile::cli
