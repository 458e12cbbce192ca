// SPDX-License-Identifier: Apache-2.0
// Tables read by column name. The format follows the file name, with or without .gz:
//
//   .tsv    a header line, tab separated, no quoting: a quote is a letter like any other
//   .csv    a header line, comma separated, quoted as RFC 4180 has it; a field may span
//           lines, which are then joined by LF
//   .jsonl  one JSON object a line; texts, numbers and true/false are fields, null is no field
//
// Blank lines are skipped and counted. Errors are ErrorKind::kInput and name file and line: a
// missing column (with the columns found and the nearest name), a row with too few or too many
// fields, a broken quote or object, a table without rows, and what LineReader reports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simile {

enum class TableFormat { kTsv, kCsv, kJsonl };
// From the file name; another ending is ErrorKind::kInput.
TableFormat table_format(const std::string& path);

struct ReadOptions {
  int64_t limit = 0;  // rows to read; 0 reads all
};

// What was met on the way.
struct ReadReport {
  std::string file;
  int64_t rows = 0;
  int64_t blank_lines = 0;
  int64_t replaced_bytes = 0;  // that were not UTF-8

  // One sentence for what a user should know, or an empty text when there is nothing.
  std::string warning() const;
};

// A column asked for: what it is for ("left"), and the name it has in the file - or the names it
// may have, of which the first one found is taken.
struct Column {
  std::string role;
  std::vector<std::string> names;
  bool required = true;  // otherwise its fields are empty where it is absent
};

struct Row {
  std::vector<std::string> fields;  // in the order of the columns asked for
  int64_t line = 0;                 // where it begins, from 1
};

class TableReader {
 public:
  TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options = {});
  TableReader(TableReader&&) noexcept;
  ~TableReader();

  // False at the end.
  bool next(Row& row);

  // Is the column in the table? Known from the header; for .jsonl, whether a row so far had it.
  bool has_column(size_t column) const;

  // The field as a finite number; otherwise an error with file, line, column and the text found.
  double number(const Row& row, size_t column) const;
  int64_t integer(const Row& row, size_t column) const;

  // "train.tsv:12: column 'score': <message>", to be thrown.
  [[noreturn]] void fail(const Row& row, size_t column, const std::string& message) const;

  const ReadReport& report() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace simile
