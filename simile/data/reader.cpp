// SPDX-License-Identifier: Apache-2.0
#include "simile/data/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos;
}

// "sentence1, sentence2, score", of a table with hundreds of columns only the first.
std::string list_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  if (names.empty()) return "none";
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kShown, ", "),
                     names.size() - kShown);
}

std::string missing_column(const std::string& where, const Column& column,
                           const std::vector<std::string>& found) {
  const std::string wanted = fmt::format("{}", fmt::join(column.names, "' or '"));
  const std::string nearest = nearest_name(column.names.front(), found);
  return fmt::format(
      "{}: no column '{}', expected for '{}'; columns found: {}{}. Name the column to use: {}: {}",
      where, wanted, column.role, list_names(found),
      nearest.empty() ? "" : "; did you mean '" + nearest + "'?", column.role,
      nearest.empty() ? "COLUMN" : nearest);
}

template <typename Number>
bool parse_whole(const std::string& text, Number& number) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return false;
  const size_t end = text.find_last_not_of(" \t") + 1;
  const size_t digits = begin + (text[begin] == '+' && end - begin > 1 && text[begin + 1] != '-');
  const auto parsed = std::from_chars(text.data() + digits, text.data() + end, number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + end;
}

}  // namespace

TableFormat table_format(const std::string& path) {
  std::string name = path;
  if (ends_with(name, ".gz")) name.resize(name.size() - 3);
  if (ends_with(name, ".tsv")) return TableFormat::kTsv;
  if (ends_with(name, ".csv")) return TableFormat::kCsv;
  if (ends_with(name, ".jsonl")) return TableFormat::kJsonl;
  throw Error(ErrorKind::kInput,
              fmt::format("{}: cannot tell the format of this table; expected a name that ends in "
                          ".tsv, .csv or .jsonl, with or without .gz",
                          path));
}

std::string ReadReport::warning() const {
  if (replaced_bytes == 0) return "";
  return fmt::format(
      "{}: {} bytes are not UTF-8 and were read as U+FFFD; convert the file to UTF-8", file,
      replaced_bytes);
}

class TableReader::Implementation {
 public:
  Implementation(const std::string& path, std::vector<Column> columns, ReadOptions options)
      : format_(table_format(path)),
        lines_(path),
        columns_(std::move(columns)),
        options_(options),
        position_(columns_.size(), -1) {
    report_.file = path;
    if (format_ != TableFormat::kJsonl) read_header();
  }

  bool next(Row& row) {
    if (options_.limit > 0 && report_.rows >= options_.limit) return false;
    std::string line;
    if (!next_filled_line(line)) {
      SIMILE_CHECK(report_.rows > 0, ErrorKind::kInput,
                   fmt::format("{}: the file holds {}, expected rows", lines_.name(),
                               header_.empty() ? "nothing" : "a header line but no rows"));
      return false;
    }
    row.line = lines_.line_number();
    row.fields.assign(columns_.size(), "");
    if (format_ == TableFormat::kJsonl) {
      read_object(line, row);
    } else {
      read_fields(line, row);
    }
    ++report_.rows;
    report_.replaced_bytes = lines_.replaced_bytes();
    return true;
  }

  bool has_column(size_t column) const { return position_[column] >= 0; }
  const ReadReport& report() const { return report_; }

  [[noreturn]] void fail(const Row& row, size_t column, const std::string& message) const {
    throw Error(ErrorKind::kInput, fmt::format("{}:{}: column '{}': {}", lines_.name(), row.line,
                                               column_name(column), message));
  }

 private:
  bool next_filled_line(std::string& line) {
    while (lines_.next(line)) {
      // In a .tsv a line of spaces or tabs holds fields, and is counted as such.
      if (format_ == TableFormat::kTsv ? !line.empty() : !is_blank(line)) return true;
      ++report_.blank_lines;
    }
    return false;
  }

  std::vector<std::string> split(const std::string& line) {
    return format_ == TableFormat::kTsv ? split_tsv(line) : split_csv(line, lines_);
  }

  void read_header() {
    std::string line;
    SIMILE_CHECK(next_filled_line(line), ErrorKind::kInput,
                 lines_.name() + ": the file is empty, expected a header line and rows");
    header_ = split(line);
    for (size_t c = 0; c < columns_.size(); ++c) {
      for (const std::string& name : columns_[c].names) {
        const auto found = std::find(header_.begin(), header_.end(), name);
        if (found == header_.end()) continue;
        SIMILE_CHECK(
            std::count(header_.begin(), header_.end(), name) == 1, ErrorKind::kInput,
            fmt::format("{}: expected one column '{}', found several", lines_.where(), name));
        position_[c] = found - header_.begin();
        break;
      }
      SIMILE_CHECK(has_column(c) || !columns_[c].required, ErrorKind::kInput,
                   missing_column(lines_.where(), columns_[c], header_));
    }
  }

  void read_fields(const std::string& line, Row& row) {
    std::vector<std::string> fields = split(line);
    SIMILE_CHECK(fields.size() == header_.size(), ErrorKind::kInput,
                 fmt::format("{}:{}: expected {} fields ({}), found {}", lines_.name(), row.line,
                             header_.size(), list_names(header_), fields.size()));
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (has_column(c)) row.fields[c] = fields[static_cast<size_t>(position_[c])];
    }
  }

  void read_object(const std::string& line, Row& row) {
    const std::vector<JsonField> members = parse_json_members(line, lines_.where());
    for (size_t c = 0; c < columns_.size(); ++c) {
      const JsonField* member = find_member(members, columns_[c]);
      if (member == nullptr) {
        std::vector<std::string> names;
        for (const JsonField& field : members) names.push_back(field.name);
        SIMILE_CHECK(!columns_[c].required, ErrorKind::kInput,
                     missing_column(lines_.where(), columns_[c], names));
        continue;
      }
      position_[c] = 0;
      if (member->kind == JsonField::Kind::kList || member->kind == JsonField::Kind::kObject) {
        fail(row, c,
             fmt::format("expected a text or a number, found {}",
                         member->kind == JsonField::Kind::kList ? "a list" : "an object"));
      }
      row.fields[c] = member->value;
    }
  }

  static const JsonField* find_member(const std::vector<JsonField>& members, const Column& column) {
    for (const std::string& name : column.names) {
      for (const JsonField& member : members) {
        if (member.name == name && member.kind != JsonField::Kind::kNull) return &member;
      }
    }
    return nullptr;
  }

  std::string column_name(size_t column) const {
    if (header_.empty() || !has_column(column)) return columns_[column].names.front();
    return header_[static_cast<size_t>(position_[column])];
  }

  TableFormat format_;
  LineReader lines_;
  std::vector<Column> columns_;
  ReadOptions options_;
  std::vector<int64_t> position_;  // of each column in the header; -1 where absent
  std::vector<std::string> header_;
  ReadReport report_;
};

TableReader::TableReader(const std::string& path, std::vector<Column> columns, ReadOptions options)
    : implementation_(std::make_unique<Implementation>(path, std::move(columns), options)) {}
TableReader::TableReader(TableReader&&) noexcept = default;
TableReader::~TableReader() = default;

bool TableReader::next(Row& row) { return implementation_->next(row); }
bool TableReader::has_column(size_t column) const { return implementation_->has_column(column); }
const ReadReport& TableReader::report() const { return implementation_->report(); }
void TableReader::fail(const Row& row, size_t column, const std::string& message) const {
  implementation_->fail(row, column, message);
}

double TableReader::number(const Row& row, size_t column) const {
  double number = 0;
  if (!parse_whole(row.fields[column], number) || !std::isfinite(number)) {
    fail(row, column, fmt::format("expected a number, found '{}'", row.fields[column]));
  }
  return number;
}

int64_t TableReader::integer(const Row& row, size_t column) const {
  int64_t number = 0;
  if (!parse_whole(row.fields[column], number)) {
    fail(row, column, fmt::format("expected a whole number, found '{}'", row.fields[column]));
  }
  return number;
}

}  // namespace simile
