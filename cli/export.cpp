// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/index_export.h"
#include "cli/index_model.h"
#include "simile/core/error.h"
#include "simile/encode/document_vectors.h"
#include "simile/index/index_description.h"

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
        OptionInfo{"File to write; - is stdout, but for npy. Beside it .jsonl has the documents "
                   "of an .npy, and .index.json what `index import` needs besides, and "
                   ".settings.json what a collection of Qdrant or an index of OpenSearch is "
                   "made with"}
            .required());
    v.field("table", target.table, {"Table that the script for psql makes"});
  }
};

void run(const Arguments& arguments, Terminal& terminal) {
  const ExportTarget& target = arguments.target;
  SIMILE_CHECK(target.form == "pgvector" || target.table == ExportTarget().table, ErrorKind::kUsage,
               "--table names the table of --to pgvector");
  const SearchIndex index =
      SearchIndex::open_without_model(arguments.index, SearchIndex::Access::kRead);
  const int64_t count = export_index(index, target);
  if ((target.form == "npy" || target.form == "qdrant-jsonl") && target.output != "-") {
    write_index_description(description_path(target.output),
                            {index.info().model, read_search_settings(arguments.index)});
  }
  terminal.info(fmt::format("{} documents of {} written to {}", count, arguments.index,
                            target.output == "-" ? "stdout" : target.output));
}

}  // namespace

void add_export(const Commands& commands) {
  commands.add<Arguments>(
      "export", "Write an index's documents and vectors in the form of another program", run);
}

}  // namespace simile::cli
