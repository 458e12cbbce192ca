// SPDX-License-Identifier: Apache-2.0
// The commands of many runs: reproduce and ablate train tables, tune searches settings.
#include <fmt/ranges.h>

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
  std::vector<std::string> tables;
  std::string table_help;
  std::optional<std::string> format;
  ReproduceOptions options;

  void visit(OptionVisitor& v) {
    v.field("tables", tables, OptionInfo{table_help}.named("tables").required());
    options.visit(v);
    v.field("format", format,
            choice_info("How the table is printed", {"text", "markdown", "json"}));
  }
};

struct Reproduced : TableArguments {
  Reproduced() { table_help = "Names of tables, files of your own (docs/reproduce.md), or list"; }
};

struct Ablated : TableArguments {
  Ablated() { table_help = "Files with a recipe and a grid (docs/reproduce.md)"; }
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

void reproduce_tables(const TableArguments& arguments, bool json, Terminal& terminal) {
  if (arguments.tables == std::vector<std::string>{"list"}) return write_result(list(json));
  const std::vector<Reproduction> results =
      reproduce(arguments.tables, arguments.options, terminal);
  const std::string format = json ? "json" : arguments.format.value_or("text");
  std::vector<std::string> texts;
  int64_t failed = 0, at_hand = 0;
  for (const Reproduction& result : results) {
    texts.push_back(format == "markdown" ? result.to_markdown()
                    : format == "json"   ? result.to_json()
                                         : result.to_text());
    failed += result.failed;
    at_hand += result.at_hand;
  }
  if (format == "json") {
    const std::string all = fmt::format("{}", fmt::join(texts, ",\n"));
    write_result(texts.size() == 1 ? all + "\n" : "[" + all + "]\n");
  } else {
    write_result(fmt::format("{}", fmt::join(texts, "\n")));
  }
  SIMILE_CHECK(failed == 0 || arguments.options.show, ErrorKind::kFailed,
               "{} {} failed or lack a figure of the table, which says why; the same "
               "command trains again what failed",
               failed, failed == 1 ? "run" : "runs");
  SIMILE_CHECK(arguments.options.show || at_hand > 0, ErrorKind::kInput,
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
            {"Processes to start on this machine, which share the trials and propose as many at a "
             "time unless tune.parallel says otherwise",
             "", 1, 1000});
    v.field("format", format,
            choice_info("How the search is printed", {"text", "markdown", "json"}));
  }
};

void tune(const TuneArguments& arguments, const CommonOptions& common, Terminal& terminal) {
  if (arguments.processes.value_or(1) > 1 && !is_started_process()) {
    // Reports mistakes once.
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
  commands.add_training<Reproduced>("reproduce", reproduce_tables);
  commands.add_training<Ablated>("ablate", reproduce_tables);
}

void add_tune(const Commands& commands) { commands.add_training<TuneArguments>("tune", tune); }

}  // namespace simile::cli
