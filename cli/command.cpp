// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "simile/core/detail/check.h"

namespace simile::cli {
namespace {

volatile std::sig_atomic_t received_signal = 0;

[[noreturn]] void fail_stdout() {
  const int code = errno;
  if (code == EINTR) check_signal();
  detail::throw_error(ErrorKind::kIo, "cannot write to standard output: {}", std::strerror(code));
}

}  // namespace

const std::vector<TrainingCommand>& training_commands() {
  static const std::vector<TrainingCommand> commands = {
      {"", "train", "Train an encoder by a recipe"},
      {"", "pretrain", "Pre-train an encoder on plain text as a masked language model"},
      {"", "batches",
       "Print which examples a recipe puts into each batch of an epoch, without training. Orders "
       "that compare vectors embed with the model the run starts from; the later epochs of a run, "
       "and stages after the first, embed with the weights of that moment"},
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
  v.field("threads", threads,
          {"Threads to compute with, of a server in each of two teams (0: all processors)", "", 0,
           1024});
}

void RecipeArguments::visit(OptionVisitor& v) {
  v.field(
      "recipe", recipe,
      OptionInfo{"Recipe (YAML), or the run.json of an earlier run"}.named("recipe").required());
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
  struct sigaction action = {};
  action.sa_handler = [](int number) {
    received_signal = number;
    std::signal(SIGINT, SIG_DFL);  // a second one of either kind ends at once
    std::signal(SIGTERM, SIG_DFL);
  };
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // without SA_RESTART: waiting for input ends
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error with a message
}

int signal_received() { return received_signal; }

void forget_signal() { received_signal = 0; }

void check_signal() {
  SIMILE_CHECK(signal_received() == 0, ErrorKind::kInterrupted, "stopped by a signal");
}

}  // namespace simile::cli
