// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"

namespace simile::cli {
namespace {

constexpr const char* kVariables = "SIMILE_";  // how those begin that stand for options

volatile std::sig_atomic_t received_signal = 0, is_started_by_another = 0;

[[noreturn]] void fail_stdout() {
  const int code = errno;
  if (code == EINTR) check_signal();
  throw_error(ErrorKind::kIo, "cannot write to standard output: {}", std::strerror(code));
}

}  // namespace

const std::vector<TrainingCommand>& training_commands() {
  static const std::vector<TrainingCommand> commands = {
      {"", "init", "Look at a table and write a recipe that trains on it"},
      {"", "train", "Train an encoder by a recipe"},
      {"", "pretrain", "Pre-train an encoder on plain text as a masked language model"},
      {"", "batches",
       "Print which examples a recipe puts into each batch of an epoch, without training"},
      {"data", "check", "Read the data of a recipe, report what it is, and look for mistakes"},
      {"", "reproduce",
       "Train every row of a paper's table and show it beside the paper's figures"},
      {"", "ablate", "Train a recipe with each choice of a grid of values, several seeds each"},
      {"", "tune", "Search the settings of a recipe, trial by trial"},
      {"", "distill", "Train a small student on the vectors that a model gives texts"}};
  return commands;
}

const std::string& training_help(const std::string& name) {
  const auto& all = training_commands();
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; })
      ->help;
}

void CommonOptions::visit(OptionVisitor& v) {
  v.field("quiet", quiet, {"No progress on stderr"});
  v.field("threads", threads, {"Compute threads (0: all cores)", "", 0, 1024});
}

void RecipeArguments::visit(OptionVisitor& v) {
  v.field("recipe", recipe,
          OptionInfo{"Recipe (YAML), or the run.json of an earlier run"}.named("recipe").with(
              &OptionInfo::is_required, is_required));
  v.field("overrides", overrides,
          OptionInfo{"Values that replace the recipe's: key.sub=value, stages.0.epochs=2, "
                     "stages.*.epochs=2 for all of a list, data=FOLDER, variant=NAME"}
              .named("overrides"));
}

std::string quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Commands Commands::add_parent(const std::string& name, const std::string& help) const {
  CLI::App* parent = app.add_subcommand(name, help);
  parent->require_subcommand(1);
  return {*parent, common, run};
}

CLI::App* Commands::add_bare(const std::string& name, const std::string& help, bool has_json,
                             std::function<void(Terminal&)> work) const {
  CLI::App* command = app.add_subcommand(name, help);
  OptionFlags flags(*command);
  common.visit(flags);
  if (has_json) flags.field("json", common.json, {"Print one JSON document on stdout"});
  command->callback([this_run = &run, work = std::move(work)] { *this_run = work; });
  return command;
}

void take_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    std::string name = kVariables + option->get_single_name();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    if (option != command.get_help_ptr()) option->envname(name);
  }
}

void warn_of_environment(const CLI::App& command, EventSink& events) {
  std::vector<std::string> known = {"SIMILE_ARGUMENTS", "SIMILE_MODELS", "SIMILE_ISA",
                                    kStartedProcess};
  for (const CLI::Option* option : command.get_options()) known.push_back(option->get_envname());
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string variable = *at, name = variable.substr(0, variable.find('='));
    if (!starts_with(name, kVariables)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    events.warning(fmt::format("the environment has {}, which is no option of {}{}; it is ignored",
                               name, command.get_name(), did_you_mean(name, known)));
  }
}

Output::Output(const std::string& path) {
  if (!path.empty() && path != "-") file_.emplace(path);
}

void Output::write(std::string_view bytes) {
  if (file_) return file_->write(bytes);
  std::string shown;
  if (isatty(STDOUT_FILENO) != 0) bytes = shown = printable(bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail_stdout();
}

void Output::rewrite_start(std::string_view bytes) { file_.value().rewrite_start(bytes); }

void Output::finish() {
  if (file_) {
    file_->commit();
  } else if (std::fflush(stdout) != 0) {
    fail_stdout();
  }
}

void write_result(std::string_view text, const std::string& path) {
  Output output(path);
  output.write(text);
  output.finish();
}

std::string json_line(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_result(bool json, const nlohmann::ordered_json& document, const std::string& text) {
  write_result(json ? json_line(document) : text);
}

void catch_signals() {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int number) {
    if (received_signal == 0) received_signal = number;
    if (is_started_by_another) return;  // which may pass on what this one got already
    std::signal(SIGINT, SIG_DFL);       // a second one of either kind ends at once
    std::signal(SIGTERM, SIG_DFL);
  };
  is_started_by_another = std::getenv(kStartedProcess) != nullptr;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // without SA_RESTART: waiting for input ends
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that closes may send several; nohup ignores them.
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error with a message
}

int signal_received() { return received_signal; }

void check_signal() {
  SIMILE_CHECK(signal_received() == 0, ErrorKind::kInterrupted, "interrupted by a signal");
}

namespace {

// Sets a single value from its text; false where it is none of its type.
bool assign(const OptionValue& value, const std::string& text) {
  return std::visit(
      [&](const auto& reference) {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_pointer_v<Reference> && !std::is_same_v<Reference, ConfigNode*>) {
          return CLI::detail::lexical_cast(text, *reference);
        } else {
          return false;
        }
      },
      value.reference());
}

const char* type_name(const OptionValue& value) {
  const auto& reference = value.reference();
  if (std::holds_alternative<std::string*>(reference)) return "TEXT";
  const bool is_real =
      std::holds_alternative<double*>(reference) || std::holds_alternative<float*>(reference);
  return is_real ? "FLOAT" : "INT";
}

// Whether the value, or an optional's, is a number or a list of them.
bool is_number(const OptionValue& value) {
  const auto& reference = value.reference();
  if (const auto* optional = std::get_if<OptionValue::Optional>(&reference)) {
    return is_number(optional->example());
  }
  if (const auto* list = std::get_if<OptionValue::List>(&reference)) {
    return is_number(list->element(list->size));
  }
  return std::holds_alternative<int64_t*>(reference) ||
         std::holds_alternative<int32_t*>(reference) ||
         std::holds_alternative<double*>(reference) || std::holds_alternative<float*>(reference);
}

// As CLI11 shows the default of a list: without spaces, and nothing for an empty one.
std::string show_default(const OptionValue& value) {
  std::string shown = show_option(value);
  if (std::holds_alternative<OptionValue::List>(value.reference())) {
    shown.erase(std::remove(shown.begin(), shown.end(), ' '), shown.end());
  }
  return shown == "[]" ? "" : shown;
}

}  // namespace

std::string flag_of(const std::string& option) {
  std::string flag = "--" + option;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void refuse_idle_flags(const std::vector<IdleOptions>& found) {
  if (found.empty()) return;
  std::vector<std::string> flags;
  for (const std::string& name : found[0].names) flags.push_back(flag_of(name));
  const bool one = flags.size() == 1;
  throw_error(ErrorKind::kUsage, "{} {} nothing {}; remove {}", fmt::join(flags, ", "),
              one ? "does" : "do", found[0].reason, one ? "it" : "them");
}

void check_dimensions(int64_t given, int64_t of_index) {
  SIMILE_CHECK(given == 0 || given == of_index, ErrorKind::kUsage,
               "--dimensions {}: the vectors of the index have {} numbers; leave the option out, "
               "or build an index with it",
               given, of_index);
}

std::string protect_brackets(const std::string& word) {
  return word[0] == '[' && word.back() == ']' ? word + kProtection : word;
}

std::string OptionFlags::help_of(const OptionInfo& info) const {
  return owner_prefix() + info.help + (info.unit.empty() ? "" : " [" + info.unit + "]");
}

CLI::Option* OptionFlags::add(const std::string& flag, const OptionValue& value,
                              const OptionInfo& info) {
  return std::visit(
      [&](const auto& reference) -> CLI::Option* {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_same_v<Reference, bool*>) {
          return command_.add_flag(flag, *reference, help_of(info));
        } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
          CLI::Option* option = add_list(
              flag, value, [value] { return value; }, info);
          return option->default_str(show_default(value));
        } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
          return declare_optional(flag, reference, info);
        } else if constexpr (std::is_pointer_v<Reference> &&
                             !std::is_same_v<Reference, ConfigNode*>) {
          return command_.add_option(flag, *reference, help_of(info))->capture_default_str();
        } else {
          throw std::logic_error(fmt::format("option '{}' has no form on the command line", flag));
        }
      },
      value.reference());
}

CLI::Option* OptionFlags::add_list(const std::string& flag, const OptionValue& example,
                                   const MakeValue& make, const OptionInfo& info) {
  const auto take = [make](const CLI::results_t& texts) {
    const auto list = std::get<OptionValue::List>(make().reference());
    list.resize(0);
    list.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      if (!assign(list.element(i), texts[i])) return false;
    }
    return true;
  };
  const auto& list = std::get<OptionValue::List>(example.reference());
  CLI::Option* option = command_.add_option(flag, take, help_of(info));
  option->type_name(type_name(list.element(list.size)));
  option->expected(CLI::detail::expected_max_vector_size);
  if (info.has_commas) {
    option->expected(1)->take_all();
  } else if (!info.takes_words && !option->get_positional()) {
    option->delimiter(',');
  }
  return option;
}

CLI::Option* OptionFlags::declare_optional(const std::string& flag,
                                           const OptionValue::Optional& value,
                                           const OptionInfo& info) {
  const OptionValue example = value.example();
  CLI::Option* option = nullptr;
  if (std::holds_alternative<OptionValue::List>(example.reference())) {
    option = add_list(flag, example, value.value, info);
  } else if (std::holds_alternative<bool*>(example.reference())) {
    return command_.add_flag_callback(
        flag, [make = value.value] { assign(make(), "true"); }, help_of(info));
  } else {
    const auto take = [make = value.value](const CLI::results_t& texts) {
      return assign(make(), texts[0]);
    };
    option = command_.add_option(flag, take, help_of(info));
    option->type_name(type_name(example))->expected(1);
  }
  if (value.shows_example) option->default_str(show_default(example));
  return option;
}

void OptionFlags::visit_value(const char* name, const OptionValue& value, const OptionInfo& info) {
  const std::string flag = info.flags.empty() ? flag_of(name) : info.flags;
  CLI::Option* option = add(flag, value, info);
  option->transform([](std::string word) {
    if (!word.empty() && word.back() == kProtection) word.pop_back();
    return word;
  });
  if (is_number(value)) {  // CLI11 shows the message of a validator that returns one
    const auto check_range = [low = info.minimum, high = info.maximum](std::string& text) {
      double number = 0;
      if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number)) {
        return fmt::format("{} is not a number", text);
      }
      if (number < low) return fmt::format("{} is less than {}", text, low);
      if (number > high) return fmt::format("{} is more than {}", text, high);
      return std::string();
    };
    option->check(CLI::Validator(check_range, ""));
  }
  if (!info.choices.empty()) option->check(CLI::IsMember(info.choices));
  if (info.is_required) option->required();
}

void OptionFlags::visit_group(const char*, const std::string&, const Members& members) {
  members(*this);
}

void OptionFlags::visit_list(const char* name, const std::string&, const List&) {
  throw std::logic_error(fmt::format("option list '{}' has no form on the command line", name));
}

}  // namespace simile::cli
