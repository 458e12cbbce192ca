// SPDX-License-Identifier: Apache-2.0
#include "simile/data/reader.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <iterator>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"
#include "simile/data/detail/filter_node.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/detail/table_file.h"
#include "simile/data/line_reader.h"
#include "simile/data/metadata_filter.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

// Errors: ErrorKind::kRecipe for what is no filter.
MetadataFilter parse_filter(const std::string& written) {
  try {
    return MetadataFilter(written);
  } catch (const Error& error) {
    throw_error(ErrorKind::kRecipe, "{} ({})", error.what(), written);
  }
}

}  // namespace

TableFormat table_format(const std::string& path) {
  const std::string name = without_compression(path);
  if (ends_with(name, ".tsv")) return TableFormat::kTsv;
  if (ends_with(name, ".csv")) return TableFormat::kCsv;
  if (ends_with(name, ".jsonl")) return TableFormat::kJsonl;
  std::error_code ignored;
  std::string foreign;
  if (std::filesystem::is_directory(path, ignored)) {
    foreign = "is a folder (docs/search.md makes a table of a folder's files)";
  } else if (file_exists(path)) {
    foreign = describe_foreign(MappedFile(path).bytes().substr(0, 512));
  }
  throw_error(ErrorKind::kInput,
              "{}: {}expected a table, whose name ends in .tsv, .csv or .jsonl, with or without "
              ".gz or .zst (a JSON array: jq -c '.[]' FILE > FILE.jsonl)",
              path, foreign.empty() ? "" : "it " + foreign + "; ");
}

std::vector<std::string> read_table_header(const std::string& path, const TableOptions& table) {
  check_no_pipe(path);
  return TableFile(path, {}, table).names();
}

void TableOptions::visit_lines(OptionVisitor& v) {
  v.field("on_error", on_error,
          choice_info("malformed rows: strict stops at the first; skip leaves them out, reports "
                      "their number and the first ten, and stops if more than half (of 20 or more) "
                      "are malformed",
                      {"strict", "skip"}));
  v.field("encoding", encoding,
          {"encoding of the file, such as windows-1252, latin1, utf-16le or shift_jis; default: "
           "UTF-8, or that of its byte order mark"});
}

void TableOptions::visit_delimiter(OptionVisitor& v) {
  v.field("delimiter", delimiter,
          {"separator of the fields of .tsv and .csv: one character, or tab; default: that of the "
           "file's name, or another that the header line shows"});
}

void TableOptions::check() const {
  SIMILE_CHECK(on_error == "strict" || on_error == "skip", ErrorKind::kRecipe,
               "on_error: expected strict or skip, found '{}'", on_error);
  SIMILE_CHECK(delimiter.size() <= 1 || delimiter == "tab", ErrorKind::kRecipe,
               "delimiter: expected one character such as ;, or tab, found '{}'", delimiter);
}

std::string ReadReport::warning() const {
  std::vector<std::string> parts;
  if (replaced_bytes > 0) {
    parts.push_back(
        fmt::format("{}: {} bytes are not UTF-8 and were read as U+FFFD, the first in {}; name the "
                    "file's encoding, such as windows-1252 (--encoding), or convert it to UTF-8",
                    file, replaced_bytes, first_replaced));
  }
  if (!separator.empty()) parts.push_back(separator);
  if (quoted_fields > 0) {
    parts.push_back(fmt::format(
        "{}: {} fields stand in quotes with doubled quotes inside, as pandas and spreadsheets "
        "write them; a .tsv is read without quoting, so the quotes are part of the texts: name the "
        "file .csv and separate by commas, or write it with quoting=csv.QUOTE_NONE",
        file, quoted_fields));
  }
  if (malformed > 0) {
    const int64_t others = malformed - static_cast<int64_t>(problems.size());
    parts.push_back(
        fmt::format("{}: {} of {} rows are malformed and were left out (on_error: skip): {}{}",
                    file, malformed, rows + filtered + malformed, fmt::join(problems, "; "),
                    others > 0 ? fmt::format("; and {} more", others) : ""));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string ReadReport::note() const {
  if (filtered == 0) return "";
  return fmt::format("{}: the filter left out {} of {} rows{}", file, filtered, rows + filtered,
                     without_value == 0
                         ? ""
                         : fmt::format("; {} of them lack a value in a column of the filter, and "
                                       "!= and not in do not match a missing value",
                                       without_value));
}

TableReader::TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options)
    : TableReader(std::vector<std::string>{path}, std::move(columns), std::move(options)) {}

TableReader::TableReader(std::vector<std::string> paths, std::vector<Column> columns,
                         ReadOptions options)
    : paths_(std::move(paths)),
      columns_(std::move(columns)),
      asked_(columns_.size()),
      options_(std::move(options)) {
  std::set<std::string> names;
  for (const std::string& written : options_.filter) {
    filters_.push_back(parse_filter(written));
    for (const std::string& name : filters_.back().columns()) names.insert(name);
  }
  for (const std::string& name : names) columns_.push_back({"filter", {name}});
  has_column_.resize(columns_.size());
  SIMILE_CHECK(!paths_.empty(), ErrorKind::kRecipe, "no table was given");
  report_.file = name_paths(paths_);
  open(0);
}

TableReader::TableReader(TableReader&&) noexcept = default;
TableReader::~TableReader() = default;

bool TableReader::has_column(size_t column) const {
  return has_column_[column] || file_->has_column(column);
}

void TableReader::fail(const Row& row, size_t column, const std::string& message) const {
  throw RowError(fmt::format("{}:{}: column '{}': {}", paths_[row.file], row.line,
                             file_->column_name(column), message));
}

bool TableReader::next(Row& row) {
  const auto is_enough = [&] {
    const int64_t seen = report_.rows + report_.filtered + report_.malformed;
    return (options_.limit > 0 && report_.rows >= options_.limit) ||
           (options_.first_rows > 0 && seen >= options_.first_rows);
  };
  while (!is_enough() && !at_end_) {
    try {
      if (read(row)) return true;
    } catch (const RowError& error) {
      leave_out_malformed(error, options_.table.skips(), report_);
    }
  }
  check_end();
  return false;
}

// False at the end, and for a row that the filter leaves out.
bool TableReader::read(Row& row) {
  while (!file_->next(row)) {
    at_end_ = number_ + 1 == paths_.size();
    if (at_end_) return false;
    open_next();
  }
  row.file = number_;
  count_lines();
  if (!filters_.empty() && !passes(row)) {
    ++report_.filtered;
    return false;
  }
  ++report_.rows;
  row.fields.resize(asked_);
  row.kinds.resize(asked_);
  return true;
}

bool TableReader::passes(const Row& row) {
  const bool is_typed = table_format(paths_[number_]) == TableFormat::kJsonl;
  detail::Json values = detail::Json::object();
  bool lacks_value = false;
  for (size_t c = asked_; c < columns_.size(); ++c) {
    detail::Json& value = values[columns_[c].names[0]];
    value = detail::value_of(row.fields[c], row.kinds[c], is_typed);
    lacks_value = lacks_value || value.is_null();
  }
  for (size_t i = 0; i < filters_.size(); ++i) {
    const detail::FilterNode* unordered = nullptr;
    const bool matches = filters_[i].root()->matches(values, &unordered);
    if (unordered != nullptr) {
      const auto found = values.find(unordered->column);
      fail(row, asked_ + static_cast<size_t>(std::distance(values.begin(), found)),
           fmt::format("expected a number to compare ({}), found '{}'", options_.filter[i],
                       begin_of_text(found->get<std::string>(), 80)));
    }
    if (matches) continue;
    if (lacks_value) ++report_.without_value;
    return false;
  }
  return true;
}

bool TableReader::accept(const std::function<void()>& look) {
  try {
    look();
    return true;
  } catch (const RowError& error) {
    leave_out_malformed(error, options_.table.skips(), report_);
  }
  --report_.rows;
  return false;
}

void TableReader::open(size_t number) {
  number_ = number;
  auto columns = columns_;
  // An object may lack what others have; check_end() reports a column that none has.
  for (size_t c = asked_; c < columns.size(); ++c) {
    columns[c].required = table_format(paths_[number]) != TableFormat::kJsonl;
  }
  file_ = std::make_unique<TableFile>(paths_[number], columns, options_.table, options_.others);
  if (report_.separator.empty()) report_.separator = file_->separator_note();
}

void TableReader::open_next() {
  for (size_t c = 0; c < columns_.size(); ++c) has_column_[c] = has_column(c);
  blank_lines_ += file_->blank_lines();
  replaced_bytes_ += file_->replaced_bytes();
  quoted_fields_ += file_->quoted_fields();
  open(number_ + 1);
}

void TableReader::count_lines() {
  report_.blank_lines = blank_lines_ + file_->blank_lines();
  report_.replaced_bytes = replaced_bytes_ + file_->replaced_bytes();
  if (report_.first_replaced.empty()) report_.first_replaced = file_->first_replaced();
  report_.quoted_fields = quoted_fields_ + file_->quoted_fields();
}

void TableReader::check_end() {
  count_lines();
  check_malformed(report_);
  for (size_t c = asked_; at_end_ && c < columns_.size(); ++c) {
    SIMILE_CHECK(
        has_column(c), ErrorKind::kInput,
        "{}: no row has a column '{}', expected for 'filter' ({}); columns of the last row: {}",
        report_.file, columns_[c].names[0], fmt::join(options_.filter, ", "),
        list_names(file_->names()));
  }
  SIMILE_CHECK(report_.rows > 0 || report_.filtered == 0, ErrorKind::kInput,
               "{}: the filter leaves none of its {} rows: {}", report_.file, report_.filtered,
               fmt::join(options_.filter, ", "));
  SIMILE_CHECK(report_.rows > 0, ErrorKind::kInput,
               report_.file + ": the file holds a header line but no rows, expected rows");
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
       fmt::format(
           "expected a number, found '{}'{}", begin_of_text(field, 80),
           point.empty()
               ? ""
               : fmt::format(
                     "; write it with a decimal point, {}, as in a spreadsheet set to English",
                     point)));
}

int64_t TableReader::integer(const Row& row, size_t column) const {
  int64_t number = 0;
  if (parse_number(row.fields[column], number)) return number;
  fail(row, column,
       fmt::format("expected a whole number, found '{}'", begin_of_text(row.fields[column], 80)));
}

}  // namespace simile
