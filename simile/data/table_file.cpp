// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/table_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/text/white_space.h"

namespace simile {
namespace {

constexpr int64_t kResynchroniseBytes = int64_t{1} << 20;

std::string missing_column(const std::string& where, const Column& column,
                           const std::vector<std::string>& found) {
  const std::string wanted = fmt::format("{}", fmt::join(column.names, "' or '"));
  const std::string lacks =
      no_column(fmt::format("{}: no column '{}', expected for '{}'", where, wanted, column.role),
                column.names.front(), found);
  if (column.role == "filter") return lacks;
  const std::string nearest = nearest_name(column.names.front(), found);
  if (!column.named) {
    return fmt::format("{}. Call {} '{}' in the header line", lacks,
                       nearest.empty() ? "the column" : "the column '" + nearest + "'",
                       column.names.front());
  }
  return fmt::format("{}. Name the column to use: {}: {}", lacks, column.role,
                     nearest.empty() ? "COLUMN" : nearest);
}

const JsonField* find_member(const std::vector<JsonField>& members, const Column& column) {
  for (const std::string& name : column.names) {
    for (const JsonField& member : members) {
      if (member.name == name && member.kind != JsonField::Kind::kNull) return &member;
    }
  }
  return nullptr;
}

}  // namespace

TableFile::TableFile(const std::string& path, const std::vector<Column>& columns,
                     bool resynchronise)
    : format_(table_format(path)),
      lines_(path),
      columns_(columns),
      resynchronise_(resynchronise),
      position_(columns.size(), -1) {
  if (format_ != TableFormat::kJsonl) read_header();
}

std::string TableFile::where(int64_t line) const { return fmt::format("{}:{}", path(), line); }

const std::string& TableFile::column_name(size_t column) const {
  if (format_ == TableFormat::kJsonl || !has_column(column)) return columns_[column].names.front();
  return names_[static_cast<size_t>(position_[column])];
}

bool TableFile::next_line(Line& line) {
  if (!given_back_.empty()) {
    line = std::move(given_back_.front());
    given_back_.pop_front();
    return true;
  }
  if (!lines_.next(line.text)) return false;
  line.number = lines_.line_number();
  return true;
}

bool TableFile::next_filled_line(Line& line) {
  while (next_line(line)) {
    // In a .tsv a line of spaces or tabs holds fields, and is counted as such.
    if (format_ == TableFormat::kTsv ? !line.text.empty() : !is_blank(line.text)) return true;
    ++blank_lines_;
  }
  return false;
}

bool TableFile::next(Row& row) {
  Line line;
  if (!next_filled_line(line)) {
    // A part of a larger table may hold its header alone; nothing at all is a damaged file.
    SIMILE_CHECK(rows_ > 0 || format_ != TableFormat::kJsonl, ErrorKind::kInput,
                 path() + ": the file holds nothing, expected rows");
    return false;
  }
  ++rows_;
  row.line = line.number;
  row.fields.assign(columns_.size(), "");
  if (format_ == TableFormat::kJsonl) {
    read_object(line, row);
  } else {
    read_fields(line, row);
  }
  return true;
}

std::vector<std::string> TableFile::split(const Line& line) {
  return format_ == TableFormat::kTsv ? split_tsv(line.text, where(line.number))
                                      : split_quoted(line);
}

std::vector<std::string> TableFile::split_quoted(const Line& line) {
  std::deque<Line> taken;
  const NextLine take = [&](std::string& text) {
    Line next;
    if (!next_line(next)) return false;
    text = next.text;
    if (resynchronise_) taken.push_back(std::move(next));
    return true;
  };
  try {
    return split_csv(line.text, where(line.number), take,
                     resynchronise_ ? kResynchroniseBytes : kMaximumLineBytes);
  } catch (const RowError&) {
    for (; !taken.empty(); taken.pop_back()) given_back_.push_front(std::move(taken.back()));
    throw;
  }
}

void TableFile::read_header() {
  Line line;
  SIMILE_CHECK(next_filled_line(line), ErrorKind::kInput,
               path() + ": the file is empty, expected a header line and rows");
  try {
    names_ = split(line);
  } catch (const RowError& error) {
    throw Error(error.kind(), error.what());  // no row can be read without it
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const std::string& name : columns_[c].names) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) continue;
      SIMILE_CHECK(
          std::count(names_.begin(), names_.end(), name) == 1, ErrorKind::kInput,
          fmt::format("{}: expected one column '{}', found several", where(line.number), name));
      position_[c] = found - names_.begin();
      break;
    }
    SIMILE_CHECK(has_column(c) || !columns_[c].required, ErrorKind::kInput,
                 missing_column(where(line.number), columns_[c], names_));
  }
}

void TableFile::read_fields(const Line& line, Row& row) {
  const std::vector<std::string> fields = split(line);
  if (fields.size() != names_.size()) {
    throw RowError(fmt::format("{}: expected {} fields ({}), found {}", where(row.line),
                               names_.size(), list_names(names_), fields.size()));
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (has_column(c)) row.fields[c] = fields[static_cast<size_t>(position_[c])];
  }
}

void TableFile::read_object(const Line& line, Row& row) {
  std::vector<JsonField> members = parse_json_members(line.text, where(line.number));
  names_.clear();
  for (const JsonField& member : members) names_.push_back(member.name);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const JsonField* member = find_member(members, columns_[c]);
    if (member == nullptr) {
      if (columns_[c].required) {
        throw RowError(missing_column(where(line.number), columns_[c], names_));
      }
      continue;
    }
    position_[c] = 0;
    if (member->kind == JsonField::Kind::kList || member->kind == JsonField::Kind::kObject) {
      throw RowError(fmt::format("{}: column '{}': expected a text or a number, found {}",
                                 where(line.number), column_name(c),
                                 member->kind == JsonField::Kind::kList ? "a list" : "an object"));
    }
    row.fields[c] = member->value;
  }
}

}  // namespace simile
