// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/tune.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/option_flags.h"
#include "cli/processes.h"
#include "simile/core/error.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string format = "text";
  TuneOptions options;
  int processes = 1;
};

std::string show(const TunePage& page, const std::string& format) {
  if (format == "markdown") return page.markdown;
  return format == "json" ? page.json + "\n" : page.text;
}

void run(const Arguments& arguments, const CommonOptions& common, Terminal& terminal) {
  if (arguments.processes > 1 && !is_started_process()) {
    check_tune_recipe(arguments.recipe, arguments.overrides);  // mistakes are told once
    const int code = start_processes(arguments.processes, common);
    if (code != 0) throw ExitCode{code};
    return;
  }
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.processes > 1) {  // what stands on the command line after it wins
    overrides.insert(overrides.begin(), fmt::format("tune.parallel={}", arguments.processes));
  }
  const TunePage page = tune(arguments.recipe, overrides, arguments.options, terminal);
  Output output("-");
  output.write(show(page, common.json ? "json" : arguments.format));
  output.finish();
}

}  // namespace

void add_tune(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command =
      commands.add("tune", "Search the settings of a recipe, trial by trial",
                   [arguments, &common](Terminal& terminal) { run(*arguments, common, terminal); });
  add_recipe(*command, arguments->recipe, arguments->overrides);
  OptionFlags flags(*command);
  arguments->options.visit(flags);
  command
      ->add_option(
          "--processes", arguments->processes,
          "Start so many processes on this machine, which share the trials, and propose as "
          "many at a time unless tune.parallel says otherwise")
      ->check(CLI::Range(1, 1000));
  command->add_option("--format", arguments->format, "How the search is printed")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
}

}  // namespace simile::cli
