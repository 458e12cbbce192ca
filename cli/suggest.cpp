// SPDX-License-Identifier: Apache-2.0
#include "cli/suggest.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile::cli {
namespace {

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

bool takes_recipe(const CLI::App& command) {
  return command.get_option_no_throw("overrides") != nullptr;
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
  return takes_recipe(command) ? suggest_override(option) : "";
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
