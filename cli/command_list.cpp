// SPDX-License-Identifier: Apache-2.0
#include "cli/command_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"

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

constexpr const char* kDescription = R"(.SH DESCRIPTION
Trains sentence encoders, evaluates them, turns texts into vectors, searches with these and serves them over HTTP.
A model is a folder in the layout of sentence\-transformers, or the name of one that comes with the program.
Results go to standard output, progress and warnings to standard error.
)";

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
.B 0
All is well.
.TP
.B 1
The work failed: no space left, a loss that is not finite, a check that does not hold.
.TP
.B 2
The command line, an option or a recipe cannot be used.
.TP
.B 3
An input file, a model or an index cannot be used.
.TP
.B 130, 143
Ended by SIGINT or SIGTERM, with everything saved.
.SH ENVIRONMENT
.TP
.B SIMILE_MODELS
Folders, separated by colons, in which models called by name are looked for first.
.TP
.B OMP_NUM_THREADS
Threads to compute with where
.B \-\-threads
does not say.
.SH FILES
.TP
.I /usr/share/simile/models
Models that come with the program.
.TP
.I /etc/default/simile
What the service
.B simile.service
is started with; an example is
.IR /usr/share/doc/simile/simile.env .
.SH EXAMPLES
.nf
simile similarity \-\-model simile\-mini\-2 "how do I reset my password" "forgot my password"
simile encode \-\-model simile\-mini\-2 \-\-input texts.txt \-\-output vectors.npy
simile index build \-\-model simile\-mini\-2 \-\-index faq.index \-\-corpus corpus.tsv
simile search \-\-index faq.index \-\-query "no new messages"
.fi
)";

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
  const char* word;
  const char* text;
};

// Words that are commands elsewhere.
constexpr Advice kCommands[] = {
    {"", "download", "a model is given as a folder, and data sets come by `simile data get`"},
    {"", "embed", "texts become vectors by `simile encode`"},
    {"", "fine-tune", "a model is fine-tuned by `simile train RECIPE.yaml`"},
    {"", "finetune", "a model is fine-tuned by `simile train RECIPE.yaml`"},
    {"", "fit", "a model is fine-tuned by `simile train RECIPE.yaml`"},
    {"", "query", "an index is searched by `simile search`"},
    {"", "semantic-search", "an index is searched by `simile search`"},
    {"", "sim", "texts are compared by `simile similarity`"},
    {"", "test", "a model is measured by `simile evaluate`"},
};

// Options that are none, and what stands in their place.
constexpr Advice kOptions[] = {
    {"encode", "--normalize", "vectors are of unit length already, unless --no-normalize is given"},
    {"encode", "--normalize-embeddings",
     "vectors are of unit length already, unless --no-normalize is given"},
    {"search", "--k", "the number of documents is --top-k"},
    {"search", "--limit", "the number of documents is --top-k"},
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
    if (is_command && word == advice.word) return advice.text;
  }
  return "";
}

// What trainers elsewhere take as options stands in a recipe here.
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
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  if (std::count(names.begin(), names.end(), option) > 0) return "";
  std::string dashed = option;
  std::replace(dashed.begin() + 2, dashed.end(), '_', '-');
  const std::string advice = find_advice(kOptions, command.get_name(), dashed);
  if (!advice.empty()) return advice;
  const std::string nearest = nearest_name(option, names);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return command.get_option_no_throw("overrides") == nullptr ? "" : suggest_override(option);
}

std::string suggest_command(const CLI::App& app, const CLI::App& command, const std::string& word,
                            const std::vector<std::string>& names) {
  const std::string advice = &command == &app ? find_advice(kCommands, "", word) : "";
  if (!advice.empty()) return fmt::format("'{}' is no command: {}\n", word, advice);
  const std::string nearest = nearest_name(word, names);
  return fmt::format("'{}' is no command{}; simile {}--help lists them\n", word,
                     nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                     &command == &app ? "" : command.get_name() + " ");
}

// A text stands where no option takes it: after the command, or after a value.
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
  std::string page = fmt::format(
      ".\\\" Printed by `simile docs man`.\n.TH SIMILE 1 \"\" \"simile {}\" \"User Commands\"\n"
      ".SH NAME\nsimile \\- train, evaluate and serve sentence encoders\n",
      version);
  page += ".SH SYNOPSIS\n.nf\n";
  for (const ListedCommand& command : list.commands) {
    if (!command.inner.empty()) continue;
    page += fmt::format("\\fB{}\\fR [\\fIOPTION\\fR ...]\n", escaped(command.name));
  }
  page += std::string(".fi\n") + kDescription + ".SH OPTIONS OF EVERY COMMAND\n";
  for (const ListedOption& option : list.common) page += entry(option);
  page += ".SH COMMANDS\n";
  for (const ListedCommand& command : list.commands) {
    if (!command.inner.empty()) continue;
    page += fmt::format(".SS {}\n{}.\n", escaped(command.name), escaped(command.help));
    for (const ListedOption& option : command.options) page += entry(option);
  }
  return page + kEnd;
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
