// SPDX-License-Identifier: Apache-2.0
#include "cli/command_list.h"

#include <algorithm>

namespace simile::cli {
namespace {

ListedOption describe(const CLI::Option& option) {
  ListedOption listed;
  listed.positional = option.get_positional();
  if (listed.positional) listed.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) listed.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) listed.names.push_back("--" + name);
  listed.help = option.get_description();
  listed.default_value = option.get_default_str();
  listed.choices = choices_of(option);
  listed.required = option.get_required();
  listed.takes_value = option.get_items_expected_max() > 0;
  return listed;
}

bool is_same(const ListedOption& a, const ListedOption& b) {
  return a.names == b.names && a.help == b.help;
}

bool has(const ListedCommand& command, const ListedOption& option) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [&](const ListedOption& other) { return is_same(option, other); });
}

void add_command(const CLI::App& app, const std::string& name,
                 std::vector<ListedCommand>& commands) {
  ListedCommand command{name, app.get_description(), {}, {}, &app};
  for (const CLI::Option* option : app.get_options()) command.options.push_back(describe(*option));
  const size_t place = commands.size();
  commands.push_back(std::move(command));
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (inner->get_allow_extras()) continue;  // add_missing_train()
    commands[place].inner.push_back(inner->get_name());
    add_command(*inner, name + " " + inner->get_name(), commands);
  }
}

bool does_something(const ListedCommand& command) { return command.inner.empty(); }

}  // namespace

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

CommandList list_commands(const CLI::App& program) {
  CommandList list;
  add_command(program, program.get_name(), list.commands);
  const auto first = std::find_if(list.commands.begin(), list.commands.end(), does_something);
  for (const ListedOption& option : first->options) {
    const bool everywhere =
        std::all_of(list.commands.begin(), list.commands.end(), [&](const ListedCommand& command) {
          return !does_something(command) || has(command, option);
        });
    if (everywhere) list.common.push_back(option);
  }
  for (ListedCommand& command : list.commands) {
    if (!does_something(command)) continue;
    std::vector<ListedOption>& options = command.options;
    const auto is_common = [&](const ListedOption& option) {
      return std::any_of(list.common.begin(), list.common.end(),
                         [&](const ListedOption& other) { return is_same(option, other); });
    };
    options.erase(std::remove_if(options.begin(), options.end(), is_common), options.end());
  }
  return list;
}

}  // namespace simile::cli
