// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/index/index_export.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string index;
  ExportTarget target;

  void visit(OptionVisitor& v) {
    v.field("index", index, OptionInfo{kIndexHelp}.required());
    v.field("to", target.form,
            choice_info("npy: a matrix and the documents of its rows; pgvector: a script for psql; "
                        "qdrant-jsonl: points; opensearch: lines of _bulk",
                        export_forms())
                .required());
    v.field(
        "output", target.output,
        OptionInfo{
            "File to write; - is stdout, except for npy. Files beside it: .jsonl, the documents of "
            "an .npy (the export refuses to replace one that no export wrote); .index.json, for "
            "`index import`; .settings.json, for a Qdrant collection or an OpenSearch index"}
            .required());
    v.field("table", target.table, {"Table that the script for psql makes"});
  }
};

// The files beside the output have names that nobody gave. Errors (ErrorKind::kUsage): one would
// replace a part of the index, or that of the documents a file of another origin.
void check_files(const std::string& index, const ExportTarget& target) {
  if (target.output == "-") return;
  const std::string description = target.output + ".index.json";
  std::vector<std::string> outputs = {target.output, description, target.output + ".json",
                                      target.output + ".settings.json"};
  if (target.form == "npy" && ends_with(target.output, ".npy")) {
    const std::string stem = target.output.substr(0, target.output.size() - 4);
    outputs.push_back(stem + ".jsonl");
    SIMILE_CHECK(!file_exists(outputs.back()) || file_exists(description), ErrorKind::kUsage,
                 "'{0}', which no earlier export wrote (there is no '{1}'), would be replaced by "
                 "the documents of the index; give another output, or remove '{0}'",
                 outputs.back(), description);
  }
  check_outputs(outputs, {index});
}

void run(Arguments& arguments, Terminal& terminal) {
  ExportTarget& target = arguments.target;
  SIMILE_CHECK(target.form == "pgvector" || target.table == ExportTarget().table, ErrorKind::kUsage,
               "--table names the table of --to pgvector");
  check_files(arguments.index, target);
  Output out("-");
  target.write = [&out](std::string_view bytes) { out.write(bytes); };
  const int64_t count = export_index(arguments.index, target, terminal);
  out.finish();
  terminal.info(fmt::format("{} documents of {} written to {}", count, arguments.index,
                            target.output == "-" ? "stdout" : target.output));
}

}  // namespace

void add_export(const Commands& commands) {
  commands.add<Arguments>(
      "export", "Write an index's documents and vectors in the form of another program", run);
}

}  // namespace simile::cli
