// SPDX-License-Identifier: Apache-2.0
// simile COMMAND: the only place that parses arguments, prints and exits.
#include <fmt/format.h>
#include <fmt/ranges.h>
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
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/kernel/vector_kernels.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/train/device_model.h"
#endif

namespace simile::cli {
namespace {

constexpr const char* kTrainingProgram = "simile-training";  // lies beside this one

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
  const char* const device = std::getenv("SIMILE_DEVICE");  // see take_environment()
  if (words[0] == "serve" && device != nullptr && std::string("cpu") != device) return true;
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
  execv((self.parent_path() / kTrainingProgram).c_str(), argv);
}

#endif

int report(const Error& error) {
  std::fprintf(stderr, "simile: %s\n", printable(error.what()).c_str());
  if (error.kind() == ErrorKind::kInterrupted && signal_received() != 0) {
    return 128 + signal_received();
  }
  return exit_code(error.kind());
}

// The command that the first words name, and how many they are.
std::pair<const CLI::App*, size_t> command_of(const CLI::App& app,
                                              const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto found =
        command->get_subcommands([&](const CLI::App* one) { return one->get_name() == words[i]; });
    if (found.empty()) return {command, i};
    command = found[0];
  }
  return {command, words.size()};
}

// The forms of the command that these words name, and where its options are listed.
std::string forms_of(const CLI::App& command, const std::vector<std::string>& words) {
  return fmt::format("\n{}\n\nsimile {} --help lists all options.\n", command.get_footer(),
                     fmt::join(words, " "));
}

int report_usage(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  std::fputs(wrap_help(out.str()).c_str(), stdout);
  if (code == 0) return 0;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto [named, depth] = command_of(app, words);
  const bool is_bare = depth == words.size();
  const bool has_commands = !named->get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::string advice = suggest(app, words);
  std::string said = err.str();
  said.erase(std::remove(said.begin(), said.end(), kProtection), said.end());
  const std::string no_command = "A subcommand is required\n";  // the advice says it better
  if (!advice.empty() && starts_with(said, no_command)) said.erase(0, no_command.size());
  said = "simile: " + advice + said;
  if (has_commands && is_bare) {
    said = wrap_help(named->help(named == &app ? "" : app.get_name()));
  } else if (is_bare) {
    said += forms_of(*named, words);
  } else if (!has_commands) {
    said += fmt::format("simile {} --help lists all options.\n",
                        fmt::join(words.begin(), words.begin() + depth, " "));
  }
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      const char* const value = std::getenv(option->get_envname().c_str());
      if (value == nullptr || said.find("--" + option->get_single_name()) == said.npos) continue;
      said += fmt::format("The environment has {}={}\n", option->get_envname(), value);
    }
  }
  std::fputs(printable(said).c_str(), stderr);
  return exit_code(ErrorKind::kUsage);
}

// Which program this is, and by which instructions it computes on this processor.
std::string describe_version() {
  const BfloatKernels* bf16 = bfloat_kernels();
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const bool trains = std::filesystem::exists(self.parent_path() / kTrainingProgram, ignored);
  return fmt::format("simile {}\ncommit {}, {} build, {}\nfp32 by {}, bf16 by {}, int8 by {}",
                     SIMILE_VERSION, *SIMILE_REVISION ? SIMILE_REVISION : "unknown", SIMILE_BUILD,
                     trains ? "with training" : "without training", vector_kernels().name,
                     bf16 == nullptr ? "fp32" : bf16->name, byte_kernels().name);
}

int run(int argc, char** argv) {
  CLI::App app("Train, evaluate and serve sentence encoders.", "simile");
  app.set_version_flag("--version", describe_version());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* /*app*/, const CLI::Error& error) {
    return error.what() + std::string("\n");
  });
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
  add_examples(app);
  std::vector<std::string> words;  // the last one first
  for (int i = argc - 1; i > 0; --i) words.push_back(protect_brackets(argv[i]));
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, argc, argv, error);
  }
  if (common.threads > 0) set_thread_count(common.threads);
  catch_signals();
  Terminal terminal(common.quiet);
  terminal.on_progress = check_signal;
  try {
    work(terminal);
  } catch (const Error& error) {
    const std::vector<std::string> given(argv + 1, argv + argc);
    const auto [named, depth] = command_of(app, given);
    if (error.kind() != ErrorKind::kUsage || depth != given.size()) throw;
    std::fputs(
        fmt::format("simile: {}\n{}", printable(error.what()), forms_of(*named, given)).c_str(),
        stderr);
    return exit_code(error.kind());
  }
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
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string line = error.path1().string() + "': " + error.code().message();
    std::fprintf(stderr, "simile: cannot open '%s\n", simile::cli::printable(line).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile: %s\n", simile::cli::printable(error.what()).c_str());
  }
  return 1;
}
