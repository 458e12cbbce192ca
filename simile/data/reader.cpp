// SPDX-License-Identifier: Apache-2.0
#include "simile/data/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/detail/table_file.h"
#include "simile/data/line_reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

enum class Test { kEquality, kOrder, kContains, kIn };

struct Symbol {
  std::string_view written;
  Test test;
  bool less, equal, more;  // whether it holds for such a field; `equal`: also for one that contains
};

// A symbol that begins with another one comes before it.
constexpr Symbol kSymbols[] = {
    {"!=", Test::kEquality, true, false, true},
    {"<=", Test::kOrder, true, true, false},
    {">=", Test::kOrder, false, true, true},
    {"==", Test::kEquality, false, true, false},
    {"=", Test::kEquality, false, true, false},
    {"<", Test::kOrder, true, false, false},
    {">", Test::kOrder, false, false, true},
    {" contains ", Test::kContains, false, true, false},
    {" not contains ", Test::kContains, false, false, false},
    {" in ", Test::kIn, false, true, false},
    {" not in ", Test::kIn, false, false, false},
};

bool is_quote(char c) { return c == '"' || c == '\''; }

std::string take_quotes_off(const std::string& text) {
  const bool quoted = text.size() >= 2 && is_quote(text[0]) && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The operator that stands first behind a column, which may be in quotes; nullptr when there is
// none, or nothing before it.
const Symbol* find_symbol(const std::string& written, size_t& at) {
  at = written.find_first_not_of(' ');
  if (at != std::string::npos && is_quote(written[at])) {
    const size_t end = written.find(written[at], at + 1);
    at = end == std::string::npos ? 0 : end + 1;
  } else {
    at = 0;
  }
  for (; at < written.size(); ++at) {
    for (const Symbol& symbol : kSymbols) {
      if (written.compare(at, symbol.written.size(), symbol.written) != 0) continue;
      return trim(written.substr(0, at)).empty() ? nullptr : &symbol;
    }
  }
  return nullptr;
}

// "a, 'b, c', d": what commas outside of quotes separate.
std::vector<std::string> split_values(const std::string& list) {
  std::vector<std::string> values(1);
  char quote = 0;
  for (const char c : list) {
    if (quote == 0 && is_quote(c) && trim(values.back()).empty()) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    if (c == ',' && quote == 0) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = take_quotes_off(trim(value));
  return values;
}

// As numbers when both are.
bool is_equal(const std::string& field, const std::string& value) {
  double left = 0, right = 0;
  const bool are_numbers = parse_number(field, left) && parse_number(value, right);
  return are_numbers ? left == right : field == value;
}

template <typename T>
bool compare(const T& field, const Symbol& symbol, const T& value) {
  return field < value ? symbol.less : value < field ? symbol.more : symbol.equal;
}

}  // namespace

// COLUMN OPERATOR VALUE.
struct RowCondition {
  // Errors: ErrorKind::kRecipe for what is no condition.
  explicit RowCondition(const std::string& condition) : written(condition) {
    size_t at = 0;
    symbol = find_symbol(written, at);
    SIMILE_CHECK(symbol != nullptr, ErrorKind::kRecipe,
                 "filter: expected COLUMN, one of = != < <= > >= contains, in, not in, and a "
                 "value, such as 'score >= 3', found '{}'",
                 written);
    const std::string value = trim(written.substr(at + symbol->written.size()));
    SIMILE_CHECK(!value.empty() || symbol->test != Test::kOrder, ErrorKind::kRecipe,
                 "filter: expected a number or text to compare with behind '{}', found '{}'",
                 symbol->written, written);
    column = take_quotes_off(trim(written.substr(0, at)));
    values = symbol->test == Test::kIn ? split_values(value)
                                       : std::vector<std::string>{take_quotes_off(value)};
  }

  // RowError's reason when the condition cannot be asked of this field, otherwise empty.
  std::string problem(const std::string& field) const {
    double number = 0;
    if (symbol->test != Test::kOrder || field.empty() || !parse_number(values[0], number) ||
        parse_number(field, number)) {
      return "";
    }
    return fmt::format("expected a number to compare ({}), found '{}'", written,
                       begin_of_text(field, 80));
  }

  bool holds(const std::string& field) const {
    const std::string& value = values[0];
    if (symbol->test == Test::kContains) {
      return (field.find(value) != std::string::npos) == symbol->equal;
    }
    if (symbol->test == Test::kIn) {
      return std::any_of(values.begin(), values.end(), [&](const std::string& each) {
               return is_equal(field, each);
             }) == symbol->equal;
    }
    if (symbol->test == Test::kOrder && field.empty()) return false;
    double left = 0, right = 0;
    if (parse_number(field, left) && parse_number(value, right)) {
      return compare(left, *symbol, right);
    }
    return compare(field, *symbol, value);
  }

  std::string written, column;
  const Symbol* symbol;
  std::vector<std::string> values;  // one but for lists
};

TableFormat table_format(const std::string& path) {
  const std::string name = without_compression(path);
  if (ends_with(name, ".tsv")) return TableFormat::kTsv;
  if (ends_with(name, ".csv")) return TableFormat::kCsv;
  if (ends_with(name, ".jsonl")) return TableFormat::kJsonl;
  throw_error(ErrorKind::kInput,
              "{}: cannot tell the format of this table; expected a name that ends in .tsv, .csv "
              "or .jsonl, with or without .gz or .zst",
              path);
}

std::vector<std::string> read_table_header(const std::string& path, const TableOptions& table) {
  return TableFile(path, {}, table).names();
}

void TableOptions::visit_lines(OptionVisitor& v) {
  v.field("on_error", on_error,
          choice_info("malformed rows: strict stops at the first; skip leaves them out, tells how "
                      "many and shows the first ten, and stops when more than half are malformed",
                      {"strict", "skip"}));
  v.field("encoding", encoding,
          {"encoding of the file, such as windows-1252, latin1, utf-16le or shift_jis; by default "
           "UTF-8, or what its byte order mark says"});
}

void TableOptions::visit_delimiter(OptionVisitor& v) {
  v.field("delimiter", delimiter,
          {"separator of the fields of .tsv and .csv: one character, or tab; by default that of "
           "the file's name, or another that the header line shows"});
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
  if (!separator.empty()) {
    parts.push_back(separator +
                    ", as its header line shows; --delimiter says so without a warning");
  }
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
  return fmt::format("{}: the filter left out {} of {} rows", file, filtered, rows + filtered);
}

TableReader::TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options)
    : TableReader(std::vector<std::string>{path}, std::move(columns), std::move(options)) {}

TableReader::TableReader(std::vector<std::string> paths, std::vector<Column> columns,
                         ReadOptions options)
    : paths_(std::move(paths)),
      columns_(std::move(columns)),
      asked_(columns_.size()),
      options_(std::move(options)),
      conditions_(options_.filter.begin(), options_.filter.end()),
      has_column_(asked_ + conditions_.size()) {
  for (const RowCondition& condition : conditions_) {
    columns_.push_back({"filter", {condition.column}});
  }
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
  for (size_t i = 0; i < conditions_.size(); ++i) {
    const std::string& field = row.fields[asked_ + i];
    const std::string problem = conditions_[i].problem(field);
    if (!problem.empty()) fail(row, asked_ + i, problem);
    if (conditions_[i].holds(field)) continue;
    ++report_.filtered;
    return false;
  }
  ++report_.rows;
  row.fields.resize(asked_);
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
  for (size_t i = 0; at_end_ && i < conditions_.size(); ++i) {
    SIMILE_CHECK(
        has_column(asked_ + i), ErrorKind::kInput,
        "{}: no row has a column '{}', expected for 'filter' ({}); columns of the last row: {}",
        report_.file, conditions_[i].column, conditions_[i].written, list_names(file_->names()));
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
