// SPDX-License-Identifier: Apache-2.0
#include "simile/data/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/row_filter.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/detail/table_file.h"
#include "simile/data/line_reader.h"
#include "simile/data/path_list.h"
#include "simile/text/utf8.h"

namespace simile {

TableFormat table_format(const std::string& path) {
  const std::string name = without_compression(path);
  if (ends_with(name, ".tsv")) return TableFormat::kTsv;
  if (ends_with(name, ".csv")) return TableFormat::kCsv;
  if (ends_with(name, ".jsonl")) return TableFormat::kJsonl;
  throw Error(ErrorKind::kInput,
              fmt::format("{}: cannot tell the format of this table; expected a name that ends in "
                          ".tsv, .csv or .jsonl, with or without .gz or .zst",
                          path));
}

std::vector<std::string> read_table_header(const std::string& path) {
  return TableFile(path, {}, false).names();
}

void visit_on_error(OptionVisitor& v, std::string& on_error) {
  v.field("on_error", on_error,
          choice_info("malformed rows: strict stops at the first; skip leaves them out, tells how "
                      "many and shows the first ten, and stops when more than half are malformed",
                      {"strict", "skip"}));
}

void check_on_error(const std::string& on_error) {
  SIMILE_CHECK(on_error == "strict" || on_error == "skip", ErrorKind::kRecipe,
               fmt::format("on_error: expected strict or skip, found '{}'", on_error));
}

std::string ReadReport::warning() const {
  std::string text;
  if (replaced_bytes > 0) {
    text =
        fmt::format("{}: {} bytes are not UTF-8 and were read as U+FFFD; convert the file to UTF-8",
                    file, replaced_bytes);
  }
  if (quoted_fields > 0) {
    text += fmt::format(
        "{}{}: {} fields stand in quotes with doubled quotes inside, as pandas and spreadsheets "
        "write them; a .tsv is read without quoting, so the quotes are part of the texts: name the "
        "file .csv and separate by commas, or write it with quoting=csv.QUOTE_NONE",
        text.empty() ? "" : "; ", file, quoted_fields);
  }
  if (malformed == 0) return text;
  const int64_t others = malformed - static_cast<int64_t>(problems.size());
  return fmt::format("{}{}{}: {} of {} rows are malformed and were left out (on_error: skip): {}{}",
                     text, text.empty() ? "" : "; ", file, malformed, rows + filtered + malformed,
                     fmt::join(problems, "; "),
                     others > 0 ? fmt::format("; and {} more", others) : "");
}

std::string ReadReport::note() const {
  if (filtered == 0) return "";
  return fmt::format("{}: the filter left out {} of {} rows", file, filtered, rows + filtered);
}

class TableReader::Implementation {
 public:
  Implementation(std::vector<std::string> paths, std::vector<Column> columns, ReadOptions options)
      : paths_(std::move(paths)),
        columns_(std::move(columns)),
        asked_(columns_.size()),
        options_(std::move(options)),
        conditions_(parse_conditions(options_.filter)),
        has_column_(asked_ + conditions_.size()) {
    for (const RowCondition& condition : conditions_) {
      columns_.push_back({"filter", {condition.column}});
    }
    SIMILE_CHECK(!paths_.empty(), ErrorKind::kRecipe, "no table was given");
    report_.file = name_paths(paths_);
    open(0);
  }

  bool next(Row& row) {
    while ((options_.limit == 0 || report_.rows < options_.limit) && !has_seen_first_rows()) {
      const std::optional<bool> passed = read(row);
      if (!passed) break;
      if (*passed) return true;
    }
    check_end();
    return false;
  }

  bool accept(const std::function<void()>& look) {
    try {
      look();
      return true;
    } catch (const RowError& error) {
      leave_out_malformed(error, options_.skip_malformed, report_);
    }
    --report_.rows;
    return false;
  }

  bool has_column(size_t column) const { return has_column_[column] || file_->has_column(column); }
  const ReadReport& report() const { return report_; }

  [[noreturn]] void fail(const Row& row, size_t column, const std::string& message) const {
    throw RowError(fmt::format("{}:{}: column '{}': {}", paths_[row.file], row.line,
                               file_->column_name(column), message));
  }

 private:
  void open(size_t number) {
    number_ = number;
    auto columns = columns_;
    // An object may lack what others have; check_end() reports a column that none has.
    for (size_t c = asked_; c < columns.size(); ++c) {
      columns[c].required = table_format(paths_[number]) != TableFormat::kJsonl;
    }
    file_.emplace(paths_[number], columns, options_.skip_malformed, options_.others);
  }

  bool open_next() {
    at_end_ = number_ + 1 == paths_.size();
    if (at_end_) return false;
    for (size_t c = 0; c < columns_.size(); ++c) has_column_[c] = has_column(c);
    blank_lines_ += file_->blank_lines();
    replaced_bytes_ += file_->replaced_bytes();
    quoted_fields_ += file_->quoted_fields();
    open(number_ + 1);
    return true;
  }

  bool has_seen_first_rows() const {
    const int64_t seen = report_.rows + report_.filtered + report_.malformed;
    return options_.first_rows > 0 && seen >= options_.first_rows;
  }

  // Does the next row pass the filter, and is it sound? Nothing at the end.
  std::optional<bool> read(Row& row) {
    if (at_end_) return std::nullopt;
    try {
      while (!file_->next(row)) {
        if (!open_next()) return std::nullopt;
      }
      row.file = number_;
      count_lines();
      if (!passes(row)) {
        ++report_.filtered;
        return false;
      }
      ++report_.rows;
      row.fields.resize(asked_);
      return true;
    } catch (const RowError& error) {
      leave_out_malformed(error, options_.skip_malformed, report_);
      return false;
    }
  }

  void count_lines() {
    report_.blank_lines = blank_lines_ + file_->blank_lines();
    report_.replaced_bytes = replaced_bytes_ + file_->replaced_bytes();
    report_.quoted_fields = quoted_fields_ + file_->quoted_fields();
  }

  bool passes(const Row& row) const {
    for (size_t i = 0; i < conditions_.size(); ++i) {
      const std::string& field = row.fields[asked_ + i];
      const std::string problem = conditions_[i].problem(field);
      if (!problem.empty()) fail(row, asked_ + i, problem);
      if (!conditions_[i].holds(field)) return false;
    }
    return true;
  }

  void check_end() {
    count_lines();
    check_malformed(report_);
    for (size_t i = 0; at_end_ && i < conditions_.size(); ++i) {
      SIMILE_CHECK(has_column(asked_ + i), ErrorKind::kInput,
                   fmt::format("{}: no row has a column '{}', expected for 'filter' ({}); columns "
                               "of the last row: {}",
                               report_.file, conditions_[i].column, conditions_[i].written,
                               list_names(file_->names())));
    }
    SIMILE_CHECK(report_.rows > 0 || report_.filtered == 0, ErrorKind::kInput,
                 fmt::format("{}: the filter leaves none of its {} rows: {}", report_.file,
                             report_.filtered, fmt::join(options_.filter, ", ")));
    SIMILE_CHECK(report_.rows > 0, ErrorKind::kInput,
                 report_.file + ": the file holds a header line but no rows, expected rows");
  }

  std::vector<std::string> paths_;
  std::vector<Column> columns_;  // the requested ones, then those of the filter
  size_t asked_;
  ReadOptions options_;
  std::vector<RowCondition> conditions_;
  std::vector<bool> has_column_;  // in the files before
  std::optional<TableFile> file_;
  size_t number_ = 0;
  bool at_end_ = false;
  int64_t blank_lines_ = 0, replaced_bytes_ = 0, quoted_fields_ = 0;  // of the files before
  ReadReport report_;
};

TableReader::TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options)
    : TableReader(std::vector<std::string>{path}, std::move(columns), std::move(options)) {}
TableReader::TableReader(std::vector<std::string> paths, std::vector<Column> columns,
                         ReadOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(paths), std::move(columns),
                                                       std::move(options))) {}
TableReader::TableReader(TableReader&&) noexcept = default;
TableReader::~TableReader() = default;

bool TableReader::next(Row& row) { return implementation_->next(row); }
bool TableReader::accept(const std::function<void()>& look) {
  return implementation_->accept(look);
}
bool TableReader::has_column(size_t column) const { return implementation_->has_column(column); }
const ReadReport& TableReader::report() const { return implementation_->report(); }
void TableReader::fail(const Row& row, size_t column, const std::string& message) const {
  implementation_->fail(row, column, message);
}

void TableReader::check_text(const Row& row, size_t column) const {
  if (is_blank(row.fields[column])) fail(row, column, "expected a text, found nothing");
}

double TableReader::number(const Row& row, size_t column) const {
  double number = 0;
  const std::string& field = row.fields[column];
  if (parse_number(field, number)) return number;
  const std::string point = with_decimal_point(field);
  fail(row, column,
       fmt::format("expected a number, found '{}'{}", begin_of_text(field, 80),
                   point.empty() ? ""
                                 : fmt::format("; write it with a decimal point, {}, as in a "
                                               "spreadsheet set to English",
                                               point)));
}

int64_t TableReader::integer(const Row& row, size_t column) const {
  int64_t number = 0;
  if (parse_number(row.fields[column], number)) return number;
  fail(row, column,
       fmt::format("expected a whole number, found '{}'", begin_of_text(row.fields[column], 80)));
}

}  // namespace simile
