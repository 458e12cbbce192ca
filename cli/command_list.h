// SPDX-License-Identifier: Apache-2.0
// The program's commands and their options as its parser has them, for what describes them: tables
// (docs/options.md), the manual page, the completions of shells.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace simile::cli {

struct ListedOption {
  std::vector<std::string> names;  // "-h", "--help"; of a positional its name
  std::string help, default_value;
  std::vector<std::string> choices;  // empty: any value
  bool positional = false, required = false, takes_value = true;
};

struct ListedCommand {
  std::string name;                   // "simile index build"
  std::string help;                   // what it does, in a line
  std::vector<std::string> inner;     // names of the commands that follow it: build, add ...
  std::vector<ListedOption> options;  // without those of every command
  const CLI::App* app = nullptr;
};

struct CommandList {
  std::vector<ListedCommand> commands;  // the program first, each before those within it
  std::vector<ListedOption> common;     // of every command that does something
};

// `program` has all its commands. Those that only tell that this build lacks them are left out.
CommandList list_commands(const CLI::App& program);

// The values that an option allows: of "TEXT:{sts,pairs}" sts and pairs.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace simile::cli
