// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/index_export.h"
#include "simile/core/error.h"
#include "simile/encode/vector_rows.h"
#include "simile/index/index_description.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string index;
  ExportTarget target;
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
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = commands.add_without_json(
      "export", "Write an index's documents and vectors in the form of another program",
      [arguments](Terminal& terminal) { run(*arguments, terminal); });
  command->add_option("--index", arguments->index, "Index folder")->required();
  command
      ->add_option("--to", arguments->target.form,
                   "npy: a matrix and the documents of its rows; pgvector: a script for psql; "
                   "qdrant-jsonl: points; opensearch: lines of _bulk")
      ->required()
      ->check(CLI::IsMember(export_forms()));
  command
      ->add_option("--output", arguments->target.output,
                   "File to write; - is stdout, but for npy. Beside it .jsonl has the documents of "
                   "an .npy, and .index.json what `index import` needs besides, and .settings.json "
                   "what a collection of Qdrant or an index of "
                   "OpenSearch is made with")
      ->required();
  command->add_option("--table", arguments->target.table, "Table that the script for psql makes")
      ->capture_default_str();
}

}  // namespace simile::cli
