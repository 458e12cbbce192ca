// SPDX-License-Identifier: Apache-2.0
#include "cli/index_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "simile/core/error.h"
#include "simile/data/reader.h"

namespace simile::cli {
namespace {

// Those of a .jsonl are the members that some object of it has.
std::set<std::string> columns_of(const std::string& corpus) {
  if (table_format(corpus) != TableFormat::kJsonl) {
    const std::vector<std::string> header = read_table_header(corpus);
    return {header.begin(), header.end()};
  }
  std::set<std::string> names;
  ReadOptions options;
  options.others = {"*"};
  TableReader reader(corpus, {}, options);
  for (Row row; reader.next(row);) {
    for (const NamedField& field : row.others) names.insert(field.name);
  }
  return names;
}

}  // namespace

void drop_empty_names(CorpusColumns& columns) {
  std::vector<std::string>& names = columns.metadata;
  names.erase(std::remove(names.begin(), names.end(), ""), names.end());
}

void take_metadata_of(const IndexInfo& info, const std::string& corpus, CorpusColumns& columns) {
  columns.metadata = info.model.metadata;
  if (columns.metadata.empty()) return;
  const std::set<std::string> found = columns_of(corpus);
  for (const std::string& name : columns.metadata) {
    SIMILE_CHECK(name == "*" || found.count(name) > 0, ErrorKind::kInput,
                 fmt::format("{}: no column '{}', which the index keeps with its documents; name "
                             "the columns to keep with --metadata, or none with --metadata ''",
                             corpus, name));
  }
}

}  // namespace simile::cli
