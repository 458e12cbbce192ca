// SPDX-License-Identifier: Apache-2.0
#include "cli/command_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "simile/core/error.h"

namespace simile::cli {
extern const char *const kExamples, *const kManPage;  // examples.txt and man_page.txt

namespace {

ListedOption describe(const CLI::Option& option) {
  ListedOption listed;
  listed.positional = option.get_positional();
  if (listed.positional) listed.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) listed.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) listed.names.push_back("--" + name);
  listed.help = option.get_description();
  listed.default_value = option.get_default_str();
  const std::string type = option.get_type_name();  // "TEXT:{sts,pairs}"
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin != std::string::npos && end != std::string::npos) {
    listed.choices = CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
  }
  listed.required = option.get_required();
  listed.takes_value = option.get_items_expected_max() > 0;
  return listed;
}

void add_command(const CLI::App& app, const std::string& parent, const std::string& name,
                 std::vector<ListedCommand>& commands) {
  ListedCommand command{parent, name, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) command.options.push_back(describe(*option));
  const size_t place = commands.size();
  commands.push_back(std::move(command));
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (inner->get_allow_extras()) continue;  // the program has no training
    commands[place].inner.push_back(inner->get_name());
    add_command(*inner, name, name + " " + inner->get_name(), commands);
  }
}

// The lines of a command in examples.txt: its most common form, and examples.
std::string examples_of(const std::string& name) {
  const std::string_view text = kExamples;
  const std::string title = "\n\n" + name + "\n";
  const size_t begin = text.find(title);
  if (begin == text.npos) return "";
  const size_t first = begin + title.size();
  return std::string(text.substr(first, text.find("\n\n", first) - first));
}

// A text as man(7) prints it.
std::string escaped(const std::string& text) {
  std::string out = text.empty() || (text[0] != '.' && text[0] != '\'') ? "" : "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string entry(const ListedOption& option) {
  const auto joined = [](const std::vector<std::string>& words, const char* between) {
    return escaped(fmt::format("{}", fmt::join(words, between)));
  };
  std::string text = ".TP\n.B " + joined(option.names, ", ");
  if (option.takes_value && !option.positional) {
    text +=
        fmt::format(" \\fI{}\\fR", option.choices.empty() ? "VALUE" : joined(option.choices, "|"));
  }
  text += "\n" + escaped(option.help);
  if (option.positional && !option.choices.empty()) {
    text += fmt::format(" (one of {})", joined(option.choices, ", "));
  }
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) {
    text += fmt::format(" (default: {})", escaped(option.default_value));
  }
  return text + "\n";
}

struct Advice {
  const char* command;  // empty: of any
  const char* words;    // separated by spaces
  const char* text;
};

// Words that are commands elsewhere.
constexpr Advice kCommands[] = {
    {"", "download", "`simile get` fetches a model, `simile data get` a data set"},
    {"", "embed", "`simile encode` turns texts into vectors"},
    {"", "fine-tune finetune fit", "`simile train RECIPE.yaml` fine-tunes a model"},
    {"", "query semantic-search", "`simile search` searches an index"},
    {"", "sim", "`simile similarity` compares texts"},
    {"", "test", "`simile evaluate` measures a model"},
};

// Unknown options of other programs, and their replacements.
constexpr Advice kOptions[] = {
    {"encode", "--normalize --normalize-embeddings",
     "vectors are of unit length already, unless --no-normalize is given"},
    {"search", "--k --limit", "the number of documents is --top-k"},
};

// Texts on the command line of a command that takes none there.
constexpr Advice kTexts[] = {
    {"encode", "", "texts come from --input FILE or stdin: echo 'a text' | simile encode ..."},
    {"predict", "", "texts come from --input FILE or stdin: echo 'a text' | simile predict ..."},
    {"search", "", "the text to search for is given as --query 'TEXT'"},
    {"tokenize", "", "texts come from --input FILE or stdin: echo 'a text' | simile tokenize ..."},
};

template <size_t n>
std::string find_advice(const Advice (&table)[n], const std::string& command,
                        const std::string& word) {
  for (const Advice& advice : table) {
    const bool is_command = *advice.command == '\0' || command == advice.command;
    const std::vector<std::string> words = CLI::detail::split(advice.words, ' ');
    const bool is_word = std::find(words.begin(), words.end(), word) != words.end();
    if (is_command && is_word) return advice.text;
  }
  return "";
}

// Options of other trainers are keys of a recipe here.
std::string suggest_override(const std::string& option) {
  std::string key = option.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  if (key == "model") return "the recipe names the model; another is given as model=NAME";
  if (key == "data" || key == "train_data" || key == "dataset") {
    return "the recipe (RECIPE.yaml) names the data; docs/tutorial.md has one to copy";
  }
  return fmt::format("values of a recipe are given after it as KEY=VALUE, such as {}=...",
                     key == "epochs"          ? "stages.0.epochs"
                     : key == "learning_rate" ? "stages.0.learning_rate"
                     : key == "batch_size"    ? "stages.0.objectives.0.batch_size"
                     : key == "loss"          ? "stages.0.objectives.0.loss"
                                              : "stages.0.learning_rate");
}

std::string suggest_option(const CLI::App& command, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back(name);
  }
  if (std::count(names.begin(), names.end(), option.substr(2)) > 0) return "";
  std::string dashed = option;
  std::replace(dashed.begin() + 2, dashed.end(), '_', '-');
  const std::string advice = find_advice(kOptions, command.get_name(), dashed);
  if (!advice.empty()) return advice;
  const std::string nearest = nearest_name(option.substr(2), names);
  if (!nearest.empty()) return fmt::format("did you mean '--{}'?", nearest);
  return command.get_option_no_throw("overrides") == nullptr ? "" : suggest_override(option);
}

std::string suggest_command(const CLI::App& app, const CLI::App& command, const std::string& word,
                            const std::vector<std::string>& names) {
  const std::string advice = &command == &app ? find_advice(kCommands, "", word) : "";
  if (!advice.empty()) return fmt::format("unknown command '{}': {}\n", word, advice);
  return fmt::format("unknown command '{}'{}; simile {}--help lists all\n", word,
                     did_you_mean(word, names), &command == &app ? "" : command.get_name() + " ");
}

// A text is where no option takes it: after the command, or after a value.
bool has_stray_text(const CLI::App& command, const std::vector<std::string>& words, size_t first) {
  for (size_t i = first; i < words.size(); ++i) {
    if (words[i][0] != '-') return true;
    const size_t equals = words[i].find('=');
    const CLI::Option* option = command.get_option_no_throw(words[i].substr(0, equals));
    if (option != nullptr && option->get_expected_min() > 0 && equals == std::string::npos) ++i;
  }
  return false;
}

}  // namespace

CommandList list_commands(const CLI::App& program) {
  CommandList list;
  add_command(program, "", program.get_name(), list.commands);
  std::vector<ListedCommand*> working;
  for (ListedCommand& command : list.commands) {
    if (command.inner.empty()) working.push_back(&command);
  }
  const auto is_in = [](const std::vector<ListedOption>& options, const ListedOption& option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  for (const ListedOption& option : working[0]->options) {
    const bool everywhere =
        std::all_of(working.begin(), working.end(),
                    [&](const ListedCommand* command) { return is_in(command->options, option); });
    if (everywhere) list.common.push_back(option);
  }
  for (ListedCommand* command : working) {
    std::vector<ListedOption>& options = command->options;
    options.erase(
        std::remove_if(options.begin(), options.end(),
                       [&](const ListedOption& option) { return is_in(list.common, option); }),
        options.end());
  }
  return list;
}

std::string man_page(const CommandList& list, const std::string& version) {
  std::string synopsis, common, commands;
  for (const ListedOption& option : list.common) common += entry(option);
  for (const ListedCommand& command : list.commands) {
    if (!command.inner.empty()) continue;
    synopsis += fmt::format("\\fB{}\\fR [\\fIOPTION\\fR ...]\n", escaped(command.name));
    commands += fmt::format(".SS {}\n{}.\n", escaped(command.name), escaped(command.help));
    for (const ListedOption& option : command.options) commands += entry(option);
    commands += ".PP\n.nf\n";
    std::istringstream lines(examples_of(command.name.substr(command.name.find(' ') + 1)));
    for (std::string line; std::getline(lines, line);) commands += escaped(line) + "\n";
    commands += ".fi\n";
  }
  return fmt::format(fmt::runtime(kManPage), fmt::arg("version", version),
                     fmt::arg("synopsis", synopsis), fmt::arg("common", common),
                     fmt::arg("commands", commands));
}

void add_examples(CLI::App& command, const std::string& name) {
  const std::string lines = examples_of(name);
  if (!lines.empty()) {
    const size_t end = lines.find('\n');
    command.footer("Most common form:\n" + lines.substr(0, end) +
                   "\n\nExamples:" + lines.substr(end));
  }
  for (CLI::App* inner : command.get_subcommands([](CLI::App*) { return true; })) {
    add_examples(*inner, name == "simile" ? inner->get_name() : name + " " + inner->get_name());
  }
}

std::string wrap_help(const std::string& help) {
  constexpr size_t kColumns = 100, kDescription = 30;
  std::istringstream lines(help);
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + "\n") {
    const size_t indent = line[0] == ' ' ? kDescription : 0;
    while (line.size() > kColumns) {
      const size_t cut = line.find_last_of(" ,", kColumns - 1);
      if (cut == std::string::npos || cut <= indent) break;
      out += line.substr(0, cut + (line[cut] == ',' ? 1 : 0)) + "\n";
      line = std::string(indent, ' ') + line.substr(cut + (line[cut + 1] == ' ' ? 2 : 1));
    }
  }
  return out;
}

std::string suggest(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  size_t first = 0;  // of the command's own words
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() > 2 && word.compare(0, 2, "--") == 0) {
      const std::string option = word.substr(0, word.find('='));
      const std::string advice = suggest_option(*command, option);
      if (!advice.empty()) return fmt::format("{}: {}\n", option, advice);
      continue;
    }
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* known : command->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(known->get_name());
      if (known->get_name() == word) next = known;
    }
    if (names.empty()) continue;
    if (next == nullptr) return suggest_command(app, *command, word, names);
    command = next;
    first = i + 1;
  }
  const std::string advice = find_advice(kTexts, command->get_name(), "");
  return advice.empty() || !has_stray_text(*command, words, first) ? "" : advice + "\n";
}

}  // namespace simile::cli
