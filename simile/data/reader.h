// SPDX-License-Identifier: Apache-2.0
// Tables read by column name. The format follows the file name, with or without .gz or .zst:
//
//   .tsv    a header line, tab separated, no quoting: a quote is a letter like any other; fields
//           that look quoted all the same are counted and told
//   .csv    a header line, comma separated, quoted as RFC 4180 has it; a field may span
//           lines, which are then joined by LF
//   .jsonl  one JSON object a line; texts, numbers and true/false are fields, null is no field
//
// The options of the table may name another separator, with which fields are quoted as those of a
// .csv. Where the header has none of the format's, and one of ; , | or a tab cuts it and the rows
// after it into the same number of fields, that one is used and reported.
//
// Blank lines are skipped and counted. Errors are ErrorKind::kInput and name file and line: a
// missing column (with the columns found and the nearest name), a row with too few or too many
// fields, a broken quote or object, a table without rows, and the errors of LineReader.
//
// Malformed rows - another number of fields, a broken quote or object, or field values that the
// caller rejects - are errors; with on_error: skip they are left out and counted in the report.
// Which row a broken quote of a .csv spoils is a guess: the line with the quote is left out, and
// reading continues with the next. More than half of 20 or more rows is an error anyway.
//
// A filter is a list of expressions (metadata_filter.h), such as `score >= 3`; a row is read if all
// of them match. Fields are values as in the metadata of an index: in a .tsv or .csv a field that
// JSON reads as a number is one; in a .jsonl each value keeps its kind. An empty field, and a
// member that is null or missing, is no value. < or > between a text and a number makes a row
// malformed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

class MetadataFilter;
class TableFile;

enum class TableFormat { kTsv, kCsv, kJsonl };
// From the file name; another ending is ErrorKind::kInput.
TableFormat table_format(const std::string& path);

// Options of all tables.
struct TableOptions {
  std::string on_error = "strict";
  std::string delimiter = {}, encoding = {};  // empty: what the file shows

  bool skips() const { return on_error == "skip"; }
  void check() const;                  // ErrorKind::kRecipe for values that make no sense
  void visit_lines(OptionVisitor& v);  // those that lists of texts have too
  void visit_delimiter(OptionVisitor& v);
  void visit(OptionVisitor& v) { visit_lines(v), visit_delimiter(v); }
};

// The names in the header of a .tsv or .csv, in its order; none of a .jsonl, which has no header.
// Errors: ErrorKind::kInput for a file that is empty, no table, or a pipe, which is then half read.
std::vector<std::string> read_table_header(const std::string& path, const TableOptions& table = {});

struct ReadOptions {
  int64_t limit = 0;  // rows to read, of those that pass the filter; 0 reads all
  std::vector<std::string> filter = {};
  TableOptions table = {};
  // Further columns, whose fields come in Row::others; "*": all columns not requested, in a .jsonl
  // those that hold a text, a number or a truth value.
  std::vector<std::string> others = {};
  int64_t first_rows = 0;  // rows to look at, whether they pass or not; 0: all
};

// Counts of read rows and of errors.
struct ReadReport {
  std::string file;  // "a.tsv", "a.tsv and 3 more files"
  int64_t rows = 0;  // read, neither filtered nor malformed
  int64_t blank_lines = 0;
  int64_t replaced_bytes = 0;  // that were not UTF-8
  std::string first_replaced;  // "a.tsv:12", where the first of these was
  std::string
      separator;         // "a.csv is separated by ';' ...", where the name or option says otherwise
  int64_t filtered = 0;  // rows that the filter left out
  int64_t without_value = 0;          // those without a value in a column of the filter
  int64_t quoted_fields = 0;          // of a .tsv, quoted as pandas and spreadsheets do
  int64_t malformed = 0;              // rows left out for what is wrong with them
  std::vector<std::string> problems;  // the first ten of these: "a.tsv:12: expected 3 fields ..."

  // A warning for the user; empty when there is nothing to say.
  std::string warning() const;
  // How many rows the filter left out; an empty text without one.
  std::string note() const;
};

// A requested column: its role ("left"), and its names in the file; the first one found counts.
struct Column {
  std::string role;
  std::vector<std::string> names;
  bool required = true;  // otherwise its fields are empty where it is absent
};

// A field with its name. In a .tsv or .csv all fields are texts; empty ones are none.
struct NamedField {
  enum class Kind { kNone, kText, kNumber, kBoolean, kList };  // a list as JSON, of a .jsonl
  std::string name;
  Kind kind = Kind::kText;
  std::string value;
};

struct Row {
  std::vector<std::string> fields;      // in the order of the requested columns
  std::vector<NamedField::Kind> kinds;  // of the fields
  std::vector<NamedField> others;       // in the order of the row
  int64_t line = 0;                     // where it begins, from 1
  size_t file = 0;                      // which of the files it is in
};

class TableReader {
 public:
  TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options = {});
  // One or more files, one after the other, as one table; each has its own header and format.
  TableReader(std::vector<std::string> paths, std::vector<Column> columns,
              ReadOptions options = {});
  TableReader(TableReader&&) noexcept;
  ~TableReader();

  // False at the end.
  bool next(Row& row);

  // Runs `look`, which looks into the row last read by number(), integer() and fail(). False if an
  // error that it finds leaves the row out (on_error: skip); otherwise the error is thrown.
  bool accept(const std::function<void()>& look);

  // Is the column in the table, by the headers so far; for .jsonl, has a row so far had it?
  bool has_column(size_t column) const;

  // fail() for a field that is empty or white space.
  void check_text(const Row& row, size_t column) const;

  // The field as a finite number; otherwise an error with file, line, column and the text found.
  double number(const Row& row, size_t column) const;
  int64_t integer(const Row& row, size_t column) const;

  // "train.tsv:12: column 'score': <message>", to be thrown.
  [[noreturn]] void fail(const Row& row, size_t column, const std::string& message) const;

  const ReadReport& report() const { return report_; }

 private:
  void open(size_t number);
  void open_next();
  bool read(Row& row);
  bool passes(const Row& row);
  void count_lines();
  void check_end();

  std::vector<std::string> paths_;
  std::vector<Column> columns_;  // the requested ones, then those of the filter
  size_t asked_;
  ReadOptions options_;
  std::vector<MetadataFilter> filters_;
  std::vector<bool> has_column_;  // in the files before
  std::unique_ptr<TableFile> file_;
  size_t number_ = 0;
  bool at_end_ = false;
  int64_t blank_lines_ = 0, replaced_bytes_ = 0, quoted_fields_ = 0;  // of the files before
  ReadReport report_;
};

}  // namespace simile
