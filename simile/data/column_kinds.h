// SPDX-License-Identifier: Apache-2.0
// The contents of a table's columns, to detect a wrong mapping, and the mapping of scores as
// annotators give them (0 to 5, 1 to 5, -1 to 1) to 0 .. 1.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/data/reader.h"

namespace simile {

// kNumber: every field that is not empty is a number. kId: at least 95 % are one word with a digit,
// hyphen, slash or underscore. kLabel: at most ten values, each in at least five rows on average,
// of two words at most. kText: all others.
enum class ColumnKind { kEmpty, kNumber, kId, kLabel, kText };

struct ColumnSummary {
  std::string name;
  ColumnKind kind = ColumnKind::kEmpty;
  std::string example;               // the first field that is not empty, cut when long
  double minimum = 0, maximum = 0;   // of numbers
  int64_t filled = 0, distinct = 0;  // fields that are not empty, and different ones of these
};

// Summaries of the first `rows` rows (0: all) of a .tsv, .csv or .jsonl. Errors: as TableReader.
std::vector<ColumnSummary> read_columns(const std::string& path, const TableOptions& table = {},
                                        int64_t rows = 0);

// The same for messages: none for a file of another kind or one that cannot be read.
std::vector<ColumnSummary> summarise_columns(const std::string& path,
                                             const TableOptions& table = {}, int64_t rows = 1000);

// "id (ids), sentence1 (texts), score (numbers from 0 to 5)"
std::string describe(const std::vector<ColumnSummary>& columns);

// "; the columns look like: ...; map a column of numbers: `score: rating`" for a score that is not
// a number, or an empty text if the file gives no hint.
std::string suggest_score_column(const std::string& path, const TableOptions& table = {});

// The mapping of a text side: its purpose ("left"), and its column.
using SideColumn = std::pair<std::string, std::string>;

// A message about a side that is mapped to numbers, ids or labels while a column of texts is not
// mapped to any side, with a better mapping; or an empty text.
std::string find_misplaced_side(const std::string& path, const std::vector<SideColumn>& sides,
                                const TableOptions& table = {});

// (score - offset) / scale
struct ScoreMapping {
  double offset = 0;
  double scale = 1;
};

// The mapping of an annotation scale to [0, 1], guessed from the lowest and highest score. The
// scale ends at the highest if that is a whole number up to 10, otherwise at the next of 1, 4, 5,
// 10, 100 and so on. It begins at 0; at 1 if no score is lower and it ends above 1; with negative
// scores at the mirror of such an end.
ScoreMapping guess_score_mapping(double minimum, double maximum);

// "set data.score_scale: 5", "set data.score_offset: 1 and data.score_scale: 4".
std::string describe_score_mapping(const ScoreMapping& mapping);

}  // namespace simile
