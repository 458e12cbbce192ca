// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "simile/core/error.h"
#include "simile/encode/model_reference.h"
#include "simile/eval/task.h"
#include "simile/serve/routes.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/experiment/tune.h"
#include "simile/train/reference.h"
#endif

namespace simile::cli {
namespace {

std::string row(const ListedOption& option) {
  return fmt::format(
      "| `{}` | {} | {}{}{} |\n", fmt::join(option.names, ","),
      option.default_value.empty() ? "" : fmt::format("`{}`", option.default_value),
      option.required ? "required: " : "", option.help,
      option.choices.empty() ? "" : fmt::format(" (one of {})", fmt::join(option.choices, ",")));
}

std::string table(const std::string& title, const std::vector<ListedOption>& options) {
  std::string text =
      fmt::format("## {}\n\n| option | default | meaning |\n| --- | --- | --- |\n", title);
  for (const ListedOption& option : options) text += row(option);
  return text + "\n";
}

// The options of all commands, those that every command has once.
std::string command_reference(const CLI::App& program) {
  const CommandList list = list_commands(program);
  std::string page = table("Every command", list.common);
  for (const ListedCommand& command : list.commands) {
    if (command.inner.empty()) page += table(fmt::format("`{}`", command.name), command.options);
  }
  page.pop_back();
  return page;
}

std::string options_page(const CLI::App& program) {
  std::string page = "# Options\n\nPrinted by `simile docs options`.\n\n";
#ifdef SIMILE_WITH_TRAINING
  page += recipe_reference() + "\n" + tune_reference() + "\n" + pretrain_reference() + "\n";
#endif
  EvaluationOptions evaluation;
  page += options_to_markdown(evaluation, "Evaluation (`simile evaluate`, task files, recipes)");
  return page + "\n" + command_reference(program);
}

std::vector<std::string> topics() {
  return {"options",
#ifdef SIMILE_WITH_TRAINING
          "losses",
#endif
          "models",  "server", "man", "completion"};
}

struct Arguments {
  std::string topic = "options";
  std::optional<std::string> shell;

  void visit(OptionVisitor& v) {
    v.field("topic", topic,
            choice_info("What to print: a page in Markdown, or man for man(1), or completion for a "
                        "shell",
                        topics())
                .named("topic"));
    v.field("shell", shell,
            choice_info("completion: the shell that will read it; bash by default",
                        completed_shells()));
  }
};

std::string page(const Arguments& arguments, const CLI::App& program) {
  const std::string& topic = arguments.topic;
  SIMILE_CHECK(!arguments.shell || topic == "completion", ErrorKind::kUsage,
               fmt::format("--shell is for `simile docs completion`, not for '{}'", topic));
  if (topic == "models") return model_reference();
  if (topic == "server") return server_reference();
  if (topic == "man") return man_page(list_commands(program), SIMILE_VERSION);
  if (topic == "completion") {
    return completion(list_commands(program), arguments.shell.value_or("bash"));
  }
#ifdef SIMILE_WITH_TRAINING
  if (topic == "losses") return method_reference();
#endif
  return options_page(program);
}

void run(const Arguments& arguments, const CLI::App& program) {
  Output output("-");
  output.write(page(arguments, program));
  output.finish();
}

}  // namespace

void add_docs(const Commands& commands) {
  commands.add<Arguments>("docs",
                          "Print the reference of options, losses, models or the server, the "
                          "manual page, or completions",
                          [&program = commands.app](const Arguments& arguments, Terminal&) {
                            run(arguments, program);
                          });
}

}  // namespace simile::cli
