// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/completion.h"
#include "simile/core/error.h"
#include "simile/core/text_table.h"
#include "simile/encode/model_reference.h"
#include "simile/eval/task.h"
#include "simile/serve/routes.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/experiment/tune.h"
#include "simile/train/reference.h"
#endif

namespace simile::cli {
namespace {

std::string table(const std::string& title, const std::vector<ListedOption>& options) {
  TableRows rows = {{"option", "default", "meaning"}};
  for (const ListedOption& option : options) {
    const std::string& value = option.default_value;
    const std::string choices =
        option.choices.empty() ? "" : fmt::format(" (one of {})", fmt::join(option.choices, ","));
    rows.push_back({fmt::format("`{}`", fmt::join(option.names, ",")),
                    value.empty() ? "" : "`" + value + "`",
                    (option.required ? "required: " : "") + option.help + choices});
  }
  return fmt::format("## {}\n\n", title) + markdown_table(rows) + "\n";
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

struct Arguments {
  std::string topic = "options";
  std::optional<std::string> shell;

  void visit(OptionVisitor& v) {
    v.field("topic", topic,
            choice_info("What to print: a page in Markdown, or man for man(1), or completion for a "
                        "shell",
                        {"options",
#ifdef SIMILE_WITH_TRAINING
                         "losses",
#endif
                         "models", "server", "man", "completion"})
                .named("topic"));
    v.field("shell", shell,
            choice_info("completion: the shell that will read it; bash by default",
                        {"bash", "zsh", "fish"}));
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

}  // namespace

void add_docs(const Commands& commands) {
  commands.add<Arguments>("docs",
                          "Print the reference of options, losses, models or the server, the "
                          "manual page, or completions",
                          [&program = commands.app](const Arguments& arguments, Terminal&) {
                            write_result(page(arguments, program));
                          });
}

}  // namespace simile::cli
