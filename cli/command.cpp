// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile::cli {
namespace {

volatile std::sig_atomic_t received_signal = 0;

void note_signal(int number) {
  received_signal = number;
  std::signal(number, SIG_DFL);  // a second one ends at once
}

[[noreturn]] void fail_stdout() {
  throw Error(ErrorKind::kIo, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

}  // namespace

CLI::App* Commands::add(const std::string& name, const std::string& help,
                        std::function<void(Terminal&)> work) const {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_flag("--json", common.json, "Print one JSON document on stdout");
  command->add_flag("--quiet", common.quiet, "No progress on stderr");
  command->add_option("--threads", common.threads, "Threads to compute with (0: all processors)")
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
  } else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    fail_stdout();
  }
}

void Output::finish() {
  if (state_->file) {
    state_->file->commit();
  } else if (std::fflush(stdout) != 0) {
    fail_stdout();
  }
}

void catch_signals() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error with a message
}

int signal_received() { return received_signal; }

}  // namespace simile::cli
