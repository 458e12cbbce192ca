// SPDX-License-Identifier: Apache-2.0
// simile COMMAND: the only place that parses arguments, prints and exits.
#include <cstdio>
#include <exception>
#include <new>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/core/threads.h"

namespace simile::cli {
namespace {

constexpr int kUsageError = 2;

int report(const Error& error) {
  std::fprintf(stderr, "simile: %s\n", error.what());
  if (error.kind() == ErrorKind::kInterrupted && signal_received() != 0) {
    return 128 + signal_received();
  }
  return exit_code(error.kind());
}

int run(int argc, char** argv) {
  CLI::App app("Train, evaluate and serve sentence encoders.", "simile");
  app.set_version_flag("--version", std::string("simile ") + SIMILE_VERSION);
  app.require_subcommand(1);
  CommonOptions common;
  std::function<void(Terminal&)> work;
  const Commands commands{app, common, work};
#ifdef SIMILE_WITH_TRAINING
  add_train(commands);
#endif
  add_encode(commands);
  add_evaluate(commands);
  add_similarity(commands);
  add_index(commands);
  add_search(commands);
  add_tokenize(commands);
  add_train_tokenizer(commands);
  add_check(commands);
  add_docs(commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (common.threads > 0) set_thread_count(common.threads);
  catch_signals();
  Terminal terminal(common.quiet);
  terminal.on_progress = [] {
    SIMILE_CHECK(signal_received() == 0, ErrorKind::kInterrupted, "stopped by a signal");
  };
  work(terminal);
  return signal_received() == 0 ? 0 : 128 + signal_received();
}

}  // namespace
}  // namespace simile::cli

int main(int argc, char** argv) {
  try {
    return simile::cli::run(argc, argv);
  } catch (const simile::Error& error) {
    return simile::cli::report(error);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "simile: out of memory; try a smaller --batch-tokens or a smaller input\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile: %s\n", error.what());
  }
  return 1;
}
