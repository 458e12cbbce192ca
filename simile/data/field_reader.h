// SPDX-License-Identifier: Apache-2.0
// The texts of any file, whatever its columns are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/data/reader.h"
#include "simile/data/text_list.h"

namespace simile {

// Reads the texts of a file row by row. A file whose name ends in .tsv, .csv or .jsonl (also with
// .gz or .zst) is a table: it gives the fields of all columns, or of those in `columns`; of .jsonl
// only texts. Any other file is a list of texts, one a line. Errors: ErrorKind::kInput for a table
// with none of `columns`, and what the readers report.
class FieldReader {
 public:
  FieldReader(const std::string& path, const std::vector<std::string>& columns);

  // The texts of the next row in `fields`, and its line (from 1). False at the end.
  bool next(std::vector<std::string>& fields, int64_t& line);

  const ReadReport& report() const { return list_ ? list_->report() : table_->report(); }

 private:
  std::optional<TextListReader> list_;  // one of the two
  std::optional<TableReader> table_;
  std::vector<std::string> members_;  // wanted in a .jsonl; empty: all texts
  bool found_ = false;                // one of members_
};

// A corpus of which only the texts are needed: the column `text` of a table, after `title` and a
// space where it has one, or each line of any other file. Blank texts are left out; bytes that are
// not UTF-8 are reported to `events`. Errors (ErrorKind::kInput): no such column, no text at all,
// and what the readers report.
std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events);

}  // namespace simile
