// SPDX-License-Identifier: Apache-2.0
// docs: the pages of the reference, and what shells complete `simile` with: commands, their
// options, and the values an option allows; in any other place files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/command_list.h"
#include "simile/core/check.h"
#include "simile/core/text_table.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/task.h"
#include "simile/serve/routes.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/experiment/tuning.h"
#include "simile/train/read_recipe.h"
#endif

namespace simile::cli {
namespace {

constexpr size_t kSummaryBytes = 70;

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

// The first sentence of a help text, shortened for display beside a completion.
std::string summary(const std::string& help) {
  std::string text = help.substr(0, std::min(help.find("; "), help.find(". ")));
  if (text.size() <= kSummaryBytes) return text;
  const size_t space = text.rfind(' ', kSummaryBytes);
  return text.substr(0, space == std::string::npos ? kSummaryBytes : space) + " ...";
}

// A word for a shell, in single quotes, with a backslash before each of `special`.
std::string quoted(const std::string& text, const std::string& quote,
                   const std::string& special = "") {
  std::string out = "'";
  for (const char c : text) {
    if (special.find(c) != std::string::npos) out += '\\';
    out += c == '\'' ? quote : std::string(1, c);
  }
  return out + "'";
}

std::string zsh_quoted(const std::string& text) { return quoted(text, "'\\''"); }
std::string fish_quoted(const std::string& text) { return quoted(text, "\\'", "\\"); }

std::vector<ListedOption> options_of(const CommandList& list, const ListedCommand& command) {
  std::vector<ListedOption> options = command.options;
  if (command.inner.empty()) options.insert(options.end(), list.common.begin(), list.common.end());
  return options;
}

// The names of all commands but the program itself, as patterns of `case`.
std::string command_patterns(const CommandList& list) {
  std::vector<std::string> names;
  for (const ListedCommand& command : list.commands) names.push_back("'" + command.name + "'");
  names.erase(names.begin());
  return joined(names, "|");
}

std::string bash_completion(const CommandList& list) {
  std::string values, words;
  for (const ListedCommand& command : list.commands) {
    // Those within the command, its options, the choices of its positionals.
    std::vector<std::string> after = command.inner;
    for (const ListedOption& option : options_of(list, command)) {
      const std::vector<std::string>& own = option.positional ? option.choices : option.names;
      after.insert(after.end(), own.begin(), own.end());
      if (option.positional || !option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(fmt::format("'{} {}'", command.name, name));
      }
      values +=
          fmt::format("    {}) words='{}' ;;\n", joined(patterns, "|"), joined(option.choices));
    }
    words += fmt::format("    '{}') words='{}' ;;\n", command.name, joined(after));
  }
  return fmt::format(
      R"(# Completion of simile for bash, printed by `simile docs completion --shell bash`.
_simile() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=simile word words=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
    {}) command+=" $word" ;;
    esac
  done
  case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}    *)
    case "$command" in
{}    esac
    ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _simile simile
)",
      command_patterns(list), values, words);
}

std::string zsh_argument(const ListedOption& option) {
  const std::string action =
      option.choices.empty() ? "_files" : fmt::format("({})", joined(option.choices));
  if (option.positional)
    return fmt::format(" {}", zsh_quoted(fmt::format("*:{}:{}", option.names[0], action)));
  std::string text, help;
  for (const char c : summary(option.help)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') help += '\\';
    help += c;
  }
  for (const std::string& name : option.names) {
    std::string argument = fmt::format("*{}[{}]", name, help);
    if (option.takes_value) argument += ":value:" + action;
    text += " " + zsh_quoted(argument);
  }
  return text;
}

std::string zsh_completion(const CommandList& list) {
  std::string cases;
  for (const ListedCommand& command : list.commands) {
    cases += fmt::format("  ('{}')\n", command.name);
    if (!command.inner.empty()) {
      std::vector<std::string> inner;
      for (const ListedCommand& other : list.commands) {
        if (other.parent != command.name) continue;
        inner.push_back(zsh_quoted(other.own_name() + ":" + summary(other.help)));
      }
      cases += fmt::format("    commands=({})\n    _describe command commands\n", joined(inner));
    }
    std::string arguments;
    for (const ListedOption& option : options_of(list, command)) arguments += zsh_argument(option);
    cases += fmt::format("    _arguments{} ;;\n", arguments);
  }
  return fmt::format(R"(#compdef simile
# Completion of simile for zsh, printed by `simile docs completion --shell zsh`.
_simile() {{
  local command=simile word
  local -a commands
  local -i depth=0
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$command $word" in
    ({}) command+=" $word"; (( ++depth )) ;;
    (*) break ;;
    esac
  done
  shift depth words
  (( CURRENT -= depth ))
  case "$command" in
{}  esac
}}
_simile "$@"
)",
                     command_patterns(list), cases);
}

std::string fish_option(const std::string& condition, const ListedOption& option) {
  std::string line = condition;
  if (option.positional) {
    if (option.choices.empty()) return "";
    return line + fmt::format(" -a {}\n", fish_quoted(joined(option.choices)));
  }
  for (const std::string& name : option.names) {
    line += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value)
    line += option.choices.empty() ? " -rF" : " -xa " + fish_quoted(joined(option.choices));
  return line + fmt::format(" -d {}\n", fish_quoted(summary(option.help)));
}

std::string fish_completion(const CommandList& list) {
  std::string lines, patterns = command_patterns(list);
  std::replace(patterns.begin(), patterns.end(), '|', ' ');
  for (const ListedCommand& command : list.commands) {
    const std::string condition =
        fmt::format("complete -c simile -n '__simile_is {}'", command.name);
    if (!command.parent.empty()) {
      lines += fmt::format("complete -c simile -f -n '__simile_is {}' -a {} -d {}\n",
                           command.parent, command.own_name(), fish_quoted(summary(command.help)));
    }
    for (const ListedOption& option : options_of(list, command)) {
      lines += fish_option(condition, option);
    }
  }
  return fmt::format(
      R"(# Completion of simile for fish, printed by `simile docs completion --shell fish`.
function __simile_is
    set -l command simile
    for word in (commandline -opc)[2..]
        switch "$command $word"
            case {}
                set command "$command $word"
        end
    end
    test "$command" = "$argv"
end
{})",
      patterns, lines);
}

std::string completion(const CommandList& list, const std::string& shell) {
  return shell == "zsh"    ? zsh_completion(list)
         : shell == "fish" ? fish_completion(list)
                           : bash_completion(list);
}

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

// The options of the library, and of all commands, those that every command has once.
std::string options_page(const CLI::App& program) {
  std::string page = "# Options\n\nPrinted by `simile docs options`.\n\n";
#ifdef SIMILE_WITH_TRAINING
  page += recipe_reference() + "\n" + tune_reference() + "\n" + pretrain_reference() + "\n";
#endif
  EvaluationOptions evaluation;
  page += options_to_markdown(evaluation, "Evaluation (`simile evaluate`, task files, recipes)");
  const CommandList list = list_commands(program);
  page += "\n" + table("Every command", list.common);
  for (const ListedCommand& command : list.commands) {
    if (command.inner.empty()) page += table(fmt::format("`{}`", command.name), command.options);
  }
  page.pop_back();
  return page;
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
               "--shell is for `simile docs completion`, not for '{}'", topic);
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
