// SPDX-License-Identifier: Apache-2.0
// One table, row by row. Used by simile/data/reader.h, which has the formats and the errors.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "simile/data/line_reader.h"
#include "simile/data/reader.h"

namespace simile {

class TableFile {
 public:
  // With on_error: skip, a record that cannot be read gives back the lines after its first one, and
  // a quoted field of more than 1 MiB counts as never closed: what one broken quote costs is then
  // bounded. `others`: see ReadOptions.
  TableFile(const std::string& path, const std::vector<Column>& columns,
            const TableOptions& options, std::vector<std::string> others = {});

  // False at the end. RowError for a row that cannot be parsed; the next call skips it.
  bool next(Row& row);

  // Is the column in the table? Of .jsonl: did a row so far have it?
  bool has_column(size_t column) const { return position_[column] >= 0; }
  // As the file has it.
  const std::string& column_name(size_t column) const;

  const std::string& path() const { return lines_.name(); }
  // Names in the header, or of .jsonl in the row read last.
  const std::vector<std::string>& names() const { return names_; }
  int64_t rows() const { return rows_; }  // malformed ones too
  int64_t blank_lines() const { return blank_lines_; }
  int64_t replaced_bytes() const { return lines_.replaced_bytes(); }
  std::string first_replaced() const;  // see ReadReport
  const std::string& separator_note() const { return separator_note_; }
  int64_t quoted_fields() const { return quoted_fields_; }  // see ReadReport

 private:
  struct Line {
    std::string text;
    int64_t number;
  };

  bool next_line(Line& line);
  bool next_filled_line(Line& line);
  std::vector<std::string> split(const Line& line);
  void read_header();
  void find_separator(const Line& header);
  void find_others(const std::string& where);
  bool is_other(const std::string& name) const;
  bool has_all_others() const { return others_.size() == 1 && others_[0] == "*"; }
  void read_fields(const Line& line, Row& row);
  void read_object(const Line& line, Row& row);
  std::string where(int64_t line) const;

  TableFormat format_;
  char separator_;
  bool has_quotes_;        // as a .csv has
  bool is_given_ = false;  // the separator, by the options
  std::string separator_note_;
  LineReader lines_;
  std::vector<Column> columns_;
  bool resynchronise_;
  std::vector<std::string> others_;
  std::vector<size_t> other_positions_;  // in the header
  std::deque<Line> given_back_;
  std::vector<int64_t> position_;  // of each column in the header; -1 where absent
  std::vector<std::string> names_;
  int64_t rows_ = 0, blank_lines_ = 0, quoted_fields_ = 0;
  bool after_open_quote_ = false;  // the row before ended in a quote that it did not close
};

}  // namespace simile
