// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/option_flags.h"
#include "cli/training/processes.h"
#include "simile/experiment/tuning.h"

namespace simile::cli {
namespace {

struct Arguments {
  RecipeArguments recipe;
  std::optional<std::string> format;
  TuneOptions options;
  std::optional<int> processes;

  void visit(OptionVisitor& v) {
    recipe.visit(v);
    options.visit(v);
    v.field("processes", processes,
            {"Start so many processes on this machine, which share the trials, and propose as many "
             "at a time unless tune.parallel says otherwise",
             "", 1, 1000});
    v.field("format", format,
            choice_info("How the search is printed", {"text", "markdown", "json"}));
  }
};

void run(const Arguments& arguments, const CommonOptions& common, Terminal& terminal) {
  if (arguments.processes.value_or(1) > 1 && !is_started_process()) {
    // Mistakes are told once.
    read_tune_plan(arguments.recipe.recipe, arguments.recipe.overrides);
    const int code = start_processes(*arguments.processes, common);
    if (code != 0) throw ExitCode{code};
    return;
  }
  std::vector<std::string> overrides = arguments.recipe.overrides;
  if (arguments.processes.value_or(1) > 1) {  // what stands on the command line after it wins
    overrides.insert(overrides.begin(), fmt::format("tune.parallel={}", *arguments.processes));
  }
  const Tuning tuning =
      search_settings(arguments.recipe.recipe, overrides, arguments.options, terminal);
  const std::string format = common.json ? "json" : arguments.format.value_or("text");
  Output output("-");
  output.write(format == "markdown" ? tuning.to_markdown()
               : format == "json"   ? tuning.to_json() + "\n"
                                    : tuning.to_text());
  output.finish();
}

}  // namespace

void add_tune(const Commands& commands) { commands.add_training<Arguments>("tune", run); }

}  // namespace simile::cli
