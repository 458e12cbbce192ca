// SPDX-License-Identifier: Apache-2.0
// simile COMMAND: the only place that parses arguments, prints and exits.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/model.h"
#include "simile/core/error.h"
#include "simile/core/parallel.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/train/device_model.h"
#endif

namespace simile::cli {
namespace {

#ifndef SIMILE_WITH_TRAINING
// Whether the program beside this one does it, which is linked with libtorch: a command that
// trains, or one with a --device other than the CPU.
bool needs_training(int argc, char** argv) {
  const std::string flag = "--device";
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == flag && i + 1 < argc && std::string(argv[i + 1]) != "cpu") return true;
    if (word.rfind(flag + "=", 0) == 0 && word != flag + "=cpu") return true;
    if (word[0] != '-') words.push_back(word);
  }
  words.resize(2);
  const auto& commands = training_commands();
  return words[0] == "docs" ||
         std::any_of(commands.begin(), commands.end(), [&](const TrainingCommand& command) {
           return command.parent.empty() ? words[0] == command.name
                                         : words[0] == command.parent && words[1] == command.name;
         });
}

// Becomes simile-training; returns when that program is not there. Its threads, libtorch's and
// ours, take turns: those that wait must not hold the processors.
void run_training(char** argv) {
  setenv("OMP_WAIT_POLICY", "passive", 0);
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  execv((self.parent_path() / "simile-training").c_str(), argv);
}

#endif

int report(const Error& error) {
  std::fprintf(stderr, "simile: %s\n", printable(error.what()).c_str());
  if (error.kind() == ErrorKind::kInterrupted && signal_received() != 0) {
    return 128 + signal_received();
  }
  return exit_code(error.kind());
}

int report_usage(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  std::fputs(out.str().c_str(), stdout);
  if (code == 0) return 0;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string advice = suggest(app, words);
  std::string said = err.str();
  const std::string no_command =
      "A subcommand is required\n";  // one was meant, as the advice tells
  if (!advice.empty() && said.rfind(no_command, 0) == 0) said.erase(0, no_command.size());
  std::fputs(printable(advice + said).c_str(), stderr);
  return exit_code(ErrorKind::kUsage);
}

int run(int argc, char** argv) {
  CLI::App app("Train, evaluate and serve sentence encoders.", "simile");
  app.set_version_flag("--version", std::string("simile ") + SIMILE_VERSION);
  app.require_subcommand(1);
  CommonOptions common;
  std::function<void(Terminal&)> work;
  const Commands commands{app, common, work};
#ifndef SIMILE_WITH_TRAINING
  if (needs_training(argc, argv)) run_training(argv);
#endif
  const Commands data = add_data(commands);
#ifdef SIMILE_WITH_TRAINING
  set_device_loader(load_on_device);
  add_init(commands);
  add_train(commands);
  add_batches(commands);
  add_reproduce(commands);
  add_tune(commands);
  add_distill(commands);
  add_data_check(data);
#else
  for (const TrainingCommand& missing : training_commands()) {
    const Commands& parent = missing.parent.empty() ? commands : data;
    parent
        .add_bare(missing.name, missing.help, true,
                  [](Terminal&) {
                    throw Error(ErrorKind::kUsage,
                                "this build cannot train: the program simile-training is not "
                                "beside simile; build with -DSIMILE_TRAINING=ON (needs libtorch)");
                  })
        ->allow_extras();
  }
#endif
  add_encode(commands);
  add_evaluate(commands);
  add_index(commands);
  add_search(commands);
  add_export(commands);
  add_serve(commands);
  add_mine(commands);
  add_report(commands);
  add_overlap(commands);
  add_tokenizer(commands);
  add_check(commands);
  add_derive(commands);
  add_get(commands);
  add_docs(commands);
  app.footer(
      "--model takes a model folder, or the name of a built-in model: simile-mini-2, "
      "simile-mini-2-static, simile-mini.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, argc, argv, error);
  }
  if (common.threads > 0) set_thread_count(common.threads);
  catch_signals();
  Terminal terminal(common.quiet);
  terminal.on_progress = check_signal;
  work(terminal);
  return signal_received() == 0 ? 0 : 128 + signal_received();
}

}  // namespace
}  // namespace simile::cli

int main(int argc, char** argv) {
  try {
    return simile::cli::run(argc, argv);
  } catch (const simile::cli::ExitCode& exit) {
    return exit.code;
  } catch (const simile::Error& error) {
    return simile::cli::report(error);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "simile: out of memory; try a smaller input, or smaller batches where the command "
                 "lets you choose\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile: %s\n", simile::cli::printable(error.what()).c_str());
  }
  return 1;
}
