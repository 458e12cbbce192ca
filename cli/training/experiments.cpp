// SPDX-License-Identifier: Apache-2.0
// The commands of many runs: reproduce and ablate train tables, tune searches settings.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/training/processes.h"
#include "simile/core/check.h"
#include "simile/experiment/reproduction.h"
#include "simile/experiment/tuning.h"

namespace simile::cli {
namespace {

struct TableArguments {
  std::string table, table_help;
  std::optional<std::string> format;
  ReproduceOptions options;

  void visit(OptionVisitor& v) {
    v.field("table", table, OptionInfo{table_help}.named("table").required());
    options.visit(v);
    v.field("format", format,
            choice_info("How the table is printed", {"text", "markdown", "json"}));
  }
};

struct Reproduced : TableArguments {
  Reproduced() { table_help = "Name of a table, file of your own (docs/reproduce.md), or list"; }
};

struct Ablated : TableArguments {
  Ablated() { table_help = "File with a recipe and a grid (docs/reproduce.md)"; }
};

std::string list(bool json) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  std::string text;
  const std::vector<std::string> names = list_tables();
  size_t widest = 0;
  for (const std::string& name : names) widest = std::max(widest, name.size());
  for (const std::string& name : names) {
    const PaperTable table = read_paper_table(find_table(name));
    document.push_back({{"table", name}, {"title", table.title}, {"source", table.source}});
    const std::string source = table.source.empty() ? "" : fmt::format(" ({})", table.source);
    text += fmt::format("{:{}}  {}{}\n", name, widest, table.title, source);
  }
  return json ? document.dump() + "\n" : text;
}

void reproduce_table(const TableArguments& arguments, bool json, Terminal& terminal) {
  if (arguments.table == "list") return write_result(list(json));
  const Reproduction result = reproduce(arguments.table, arguments.options, terminal);
  const std::string format = json ? "json" : arguments.format.value_or("text");
  write_result(format == "markdown" ? result.to_markdown()
               : format == "json"   ? result.to_json() + "\n"
                                    : result.to_text());
  SIMILE_CHECK(result.failed == 0 || arguments.options.show, ErrorKind::kFailed,
               "{} {} failed or lack a figure of the table, which says why; the same "
               "command trains again what failed",
               result.failed, result.failed == 1 ? "run" : "runs");
  SIMILE_CHECK(arguments.options.show || result.at_hand > 0, ErrorKind::kInput,
               "nothing of the table could be run: its data are not at hand");
}

struct TuneArguments {
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

void tune(const TuneArguments& arguments, const CommonOptions& common, Terminal& terminal) {
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
  write_result(format == "markdown" ? tuning.to_markdown()
               : format == "json"   ? tuning.to_json() + "\n"
                                    : tuning.to_text());
}

}  // namespace

void add_reproduce(const Commands& commands) {
  commands.add_training<Reproduced>("reproduce", reproduce_table);
  commands.add_training<Ablated>("ablate", reproduce_table);
}

void add_tune(const Commands& commands) { commands.add_training<TuneArguments>("tune", tune); }

}  // namespace simile::cli
