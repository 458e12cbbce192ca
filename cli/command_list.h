// SPDX-License-Identifier: Apache-2.0
// The program's commands and options as its parser has them, for everything that describes them:
// tables (docs/options.md), the manual page, the completions of shells, and advice on a mistake.
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

// `program` has all its commands. Those that this build lacks are left out.
CommandList list_commands(const CLI::App& program);

// The manual page simile(1), for man(7).
std::string man_page(const CommandList& list, const std::string& version);

// Ends the help of a command, and of all within it, with its most common form and examples.
void add_examples(CLI::App& command, const std::string& name = "simile");

// Help wrapped at 100 columns; the lines that go on are indented like the descriptions.
std::string wrap_help(const std::string& help);

// Suggests what a rejected command line meant: lines about the first unknown word (the nearest
// name, the word for a sentence-transformers term, or a value's place), or an empty text.
std::string suggest(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace simile::cli
