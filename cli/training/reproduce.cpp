// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/option_flags.h"
#include "simile/core/detail/check.h"
#include "simile/experiment/reproduction.h"

namespace simile::cli {
namespace {

struct Arguments {
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

struct Reproduced : Arguments {
  Reproduced() { table_help = "Name of a table, file of your own (docs/reproduce.md), or list"; }
};

struct Ablated : Arguments {
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

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  Output output("-");
  if (arguments.table == "list") {
    output.write(list(json));
    output.finish();
    return;
  }
  const Reproduction result = reproduce(arguments.table, arguments.options, terminal);
  const std::string format = json ? "json" : arguments.format.value_or("text");
  output.write(format == "markdown" ? result.to_markdown()
               : format == "json"   ? result.to_json() + "\n"
                                    : result.to_text());
  output.finish();
  SIMILE_CHECK(result.failed == 0 || arguments.options.show, ErrorKind::kFailed,
               "{} {} failed or lack a figure of the table, which says why; the same "
               "command trains again what failed",
               result.failed, result.failed == 1 ? "run" : "runs");
  SIMILE_CHECK(arguments.options.show || result.at_hand > 0, ErrorKind::kInput,
               "nothing of the table could be run: its data are not at hand");
}

}  // namespace

void add_reproduce(const Commands& commands) {
  commands.add_training<Reproduced>("reproduce", run);
  commands.add_training<Ablated>("ablate", run);
}

}  // namespace simile::cli
