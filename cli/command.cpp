// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile::cli {
namespace {

volatile std::sig_atomic_t received_signal = 0;

void note_signal(int number) {
  received_signal = number;
  std::signal(SIGINT, SIG_DFL);  // a second one of either kind ends at once
  std::signal(SIGTERM, SIG_DFL);
}

[[noreturn]] void fail_stdout() {
  const int code = errno;
  if (code == EINTR) check_signal();
  throw Error(ErrorKind::kIo,
              fmt::format("cannot write to standard output: {}", std::strerror(code)));
}

}  // namespace

void add_recipe(CLI::App& command, std::string& recipe, std::vector<std::string>& overrides) {
  command.add_option("recipe", recipe, "Recipe (YAML), or the run.json of an earlier run")
      ->required();
  command.add_option("overrides", overrides,
                     "Values that replace the recipe's: key.sub=value, stages.0.epochs=2, "
                     "stages.*.epochs=2 for all of a list, data=FOLDER, variant=NAME");
}

std::string quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CLI::App* Commands::add(const std::string& name, const std::string& help,
                        std::function<void(Terminal&)> work) const {
  CLI::App* command = add_without_json(name, help, std::move(work));
  command->add_flag("--json", common.json, "Print one JSON document on stdout");
  return command;
}

CLI::App* Commands::add_without_json(const std::string& name, const std::string& help,
                                     std::function<void(Terminal&)> work) const {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_flag("--quiet", common.quiet, "No progress on stderr");
  command
      ->add_option("--threads", common.threads,
                   "Threads to compute with, of a server in each of two teams (0: "
                   "all processors)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->callback([this_run = &run, work = std::move(work)] { *this_run = work; });
  return command;
}

struct Output::State {
  std::optional<AtomicFile> file;
};

Output::Output(const std::string& path) : state_(std::make_unique<State>()) {
  if (!path.empty() && path != "-") state_->file.emplace(path);
}

Output::~Output() = default;

void Output::write(std::string_view bytes) {
  if (state_->file) {
    state_->file->write(bytes);
    return;
  }
  std::string shown;
  if (isatty(STDOUT_FILENO) != 0) bytes = shown = printable(bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    fail_stdout();
  }
}

void Output::rewrite_start(std::string_view bytes) { state_->file.value().rewrite_start(bytes); }

void Output::finish() {
  if (state_->file) {
    state_->file->commit();
  } else if (std::fflush(stdout) != 0) {
    fail_stdout();
  }
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
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
