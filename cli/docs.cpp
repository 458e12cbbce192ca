// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "simile/encode/model_reference.h"
#include "simile/eval/task.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/train/method_reference.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"
#endif

namespace simile::cli {
namespace {

struct Command {
  std::string name;  // "simile index build"
  const CLI::App* app;
};

void list_commands(const CLI::App& app, const std::string& name, std::vector<Command>& commands) {
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string inner_name = name + " " + inner->get_name();
    if (inner->get_require_subcommand_min() == 0) commands.push_back({inner_name, inner});
    list_commands(*inner, inner_name, commands);
  }
}

// What the parser knows of the values: "TEXT:{sts,pairs}".
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  return fmt::format(" (one of {})", type.substr(begin + 1, end - begin - 1));
}

std::string row(const CLI::Option& option) {
  const std::string name =
      option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  const std::string value = option.get_default_str();
  return fmt::format(
      "| `{}` | {} | {}{}{} |\n", name, value.empty() ? "" : fmt::format("`{}`", value),
      option.get_required() ? "required: " : "", option.get_description(), choices_of(option));
}

std::vector<std::string> rows_of(const CLI::App& command) {
  std::vector<std::string> rows;
  for (const CLI::Option* option : command.get_options()) rows.push_back(row(*option));
  return rows;
}

std::string table(const std::string& title, const std::vector<std::string>& rows) {
  std::string text =
      fmt::format("## {}\n\n| option | default | meaning |\n| --- | --- | --- |\n", title);
  for (const std::string& row : rows) text += row;
  return text + "\n";
}

// The options of all commands, those that every command has once.
std::string command_reference(const CLI::App& program) {
  std::vector<Command> commands;
  list_commands(program, program.get_name(), commands);
  std::vector<std::string> common = rows_of(*commands.front().app);
  const auto lacks = [](const std::vector<std::string>& rows) {
    return [&rows](const std::string& row) {
      return std::find(rows.begin(), rows.end(), row) == rows.end();
    };
  };
  for (const Command& command : commands) {
    const std::vector<std::string> rows = rows_of(*command.app);
    common.erase(std::remove_if(common.begin(), common.end(), lacks(rows)), common.end());
  }
  std::string page = table("Every command", common);
  for (const Command& command : commands) {
    std::vector<std::string> own;
    for (const std::string& row : rows_of(*command.app)) {
      if (lacks(common)(row)) own.push_back(row);
    }
    page += table(fmt::format("`{}`", command.name), own);
  }
  page.pop_back();
  return page;
}

std::string options_page(const CLI::App& program) {
  std::string page = "# Options\n\nPrinted by `simile docs options`.\n\n";
#ifdef SIMILE_WITH_TRAINING
  page += recipe_reference() + "\n" + pretrain_reference() + "\n";
#endif
  EvaluationOptions evaluation;
  page += options_to_markdown(evaluation, "Evaluation (`simile evaluate`, task files, recipes)");
  return page + "\n" + command_reference(program);
}

std::string page(const std::string& topic, const CLI::App& program) {
  if (topic == "models") return model_reference();
#ifdef SIMILE_WITH_TRAINING
  if (topic == "losses") return method_reference();
#endif
  return options_page(program);
}

void run(const std::string& topic, const CLI::App& program) {
  Output output("-");
  output.write(page(topic, program));
  output.finish();
}

}  // namespace

void add_docs(const Commands& commands) {
  auto topic = std::make_shared<std::string>("options");
  CLI::App* command = commands.add_without_json(
      "docs", "Print the reference of options, losses or models as Markdown",
      [topic, &program = commands.app](Terminal&) { run(*topic, program); });
  CLI::Option* option =
      command->add_option("topic", *topic, "options, losses or models")->capture_default_str();
#ifdef SIMILE_WITH_TRAINING
  option->check(CLI::IsMember({"options", "losses", "models"}));
#else
  option->check(CLI::IsMember({"options", "models"}));
#endif
}

}  // namespace simile::cli
