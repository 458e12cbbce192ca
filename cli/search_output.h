// SPDX-License-Identifier: Apache-2.0
// What `simile search` shows of hits.
#pragma once

#include <string>
#include <vector>

#include "simile/index/search_query.h"

namespace simile::cli {

struct Query {
  std::string id, text;
};

using SearchResults = std::vector<std::vector<SearchHit>>;  // of each query

// table      a line for each hit; with words of the query in bold on a terminal, and U+FFFD for
//            control characters of ids and texts
// json       one document: of a query, or a list
// jsonl      a query with its hits a line
// trec       a run, as evaluate --run reads it
enum class SearchFormat { kTable, kJson, kJsonLines, kTrec };

const std::vector<std::string>& search_format_names();  // in the order of SearchFormat

// The one that is named, or else that of the file's ending, or of stdout with --json or without.
// Errors: ErrorKind::kUsage for an ending that says nothing.
SearchFormat choose_format(const std::string& name, const std::string& output, bool json);

// `as_list`: one JSON document is a list even of one query. Errors (kInput): an id that a run
// cannot hold.
std::string show_results(SearchFormat format, bool as_list, bool on_terminal,
                         const std::vector<Query>& queries, const SearchResults& results);

}  // namespace simile::cli
