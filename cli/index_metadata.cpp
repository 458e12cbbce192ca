// SPDX-License-Identifier: Apache-2.0
#include "cli/index_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/data/reader.h"

namespace simile::cli {
namespace {

// Beside others "*" is a name as they are.
bool are_all(const std::vector<std::string>& names) { return names.size() == 1 && names[0] == "*"; }

// A pipe or the like cannot.
bool can_be_read_twice(const std::string& path) {
  std::error_code ignored;
  return !std::filesystem::is_other(std::filesystem::status(path, ignored));
}

// Those of the names that no object of a .jsonl has.
std::set<std::string> missing_members(const std::string& corpus,
                                      const std::vector<std::string>& names) {
  SIMILE_CHECK(can_be_read_twice(corpus), ErrorKind::kInput,
               fmt::format("{}: no regular file, and would have to be read twice to see whether it "
                           "has the columns that the index keeps with its documents; name them "
                           "with --metadata {}, or write the corpus into a file first",
                           corpus, fmt::join(names, ",")));
  std::set<std::string> missing(names.begin(), names.end());
  ReadOptions options;
  options.others = {"*"};
  TableReader reader(corpus, {}, options);
  for (Row row; !missing.empty() && reader.next(row);) {
    check_signal();
    for (const NamedField& field : row.others) missing.erase(field.name);
  }
  return missing;
}

// The reader of a pipe with a header tells itself what that lacks.
std::set<std::string> missing_columns(const std::string& corpus,
                                      const std::vector<std::string>& names) {
  if (table_format(corpus) == TableFormat::kJsonl) return missing_members(corpus, names);
  std::set<std::string> missing(names.begin(), names.end());
  if (!can_be_read_twice(corpus)) return {};
  for (const std::string& name : read_table_header(corpus)) missing.erase(name);
  return missing;
}

}  // namespace

void drop_empty_names(CorpusColumns& columns) {
  std::vector<std::string>& names = columns.metadata;
  names.erase(std::remove(names.begin(), names.end(), ""), names.end());
}

void take_metadata_of(const IndexInfo& info, const std::string& corpus, CorpusColumns& columns) {
  columns.metadata = info.model.metadata.value_or(std::vector<std::string>());
  std::vector<std::string> names = columns.metadata;
  names.erase(std::remove(names.begin(), names.end(), "*"), names.end());
  if (names.empty()) return;
  const std::set<std::string> missing = missing_columns(corpus, names);
  for (const std::string& name : names) {
    SIMILE_CHECK(missing.count(name) == 0, ErrorKind::kInput,
                 fmt::format("{}: no column '{}', which the index keeps with its documents; name "
                             "the columns to keep with --metadata, or none with --metadata ''",
                             corpus, name));
  }
}

void check_metadata_lives_on(const SearchIndex& index, const std::vector<Document>& documents,
                             const CorpusColumns& columns) {
  const std::vector<std::string>& kept = columns.metadata;
  if (are_all(kept)) return;
  for (const Document& document : documents) {
    const std::optional<Document> old = index.find(document.id);
    if (!old || old->metadata.empty()) continue;
    const auto metadata = nlohmann::ordered_json::parse(old->metadata);
    for (const auto& member : metadata.items()) {
      SIMILE_CHECK(
          std::count(kept.begin(), kept.end(), member.key()) > 0, ErrorKind::kInput,
          fmt::format(
              "document \"{}\" of the index has '{}' in its metadata, which the one that "
              "replaces it would lose; name the columns to keep with --metadata COLUMNS, or "
              "none with --metadata ''",
              document.id, member.key()));
    }
  }
}

}  // namespace simile::cli
