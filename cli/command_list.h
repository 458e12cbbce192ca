// SPDX-License-Identifier: Apache-2.0
// The program's commands and their options as its parser has them, for what describes them: tables
// (docs/options.md), the manual page, the completions of shells, and advice on a mistake.
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

  bool operator==(const ListedOption& other) const {
    return names == other.names && help == other.help;
  }
};

struct ListedCommand {
  std::string parent;                 // "simile index"; of the program empty
  std::string name;                   // "simile index build"
  std::string help;                   // what it does, in a line
  std::vector<std::string> inner;     // names of the commands that follow it: build, add ...
  std::vector<ListedOption> options;  // without those of every command

  std::string own_name() const { return name.substr(parent.size() + 1); }  // "build"
};

struct CommandList {
  std::vector<ListedCommand> commands;  // the program first, each before those within it
  std::vector<ListedOption> common;     // of every command that does something
};

// `program` has all its commands. Those that only tell that this build lacks them are left out.
CommandList list_commands(const CLI::App& program);

// The manual page simile(1), for man(7).
std::string man_page(const CommandList& list, const std::string& version);

// What was meant by a command line that was refused: lines about the first word that is no command,
// option or argument, or an empty text: the nearest name, what sentence-transformers' users would
// call it, or where a value is given here.
std::string suggest(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace simile::cli
