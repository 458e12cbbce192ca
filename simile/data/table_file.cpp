// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/table_file.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/data/detail/row_parser.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr int64_t kResynchroniseBytes = int64_t{1} << 20;
constexpr const char* kSeparators = "\t;,|";

// A hint for a header of one name that seems to hold another separator.
std::string other_separator(const std::vector<std::string>& names, TableFormat format) {
  if (names.size() != 1 || format == TableFormat::kJsonl) return "";
  const size_t found = names[0].find_first_of(kSeparators);
  if (found == std::string::npos) return "";
  const std::string separator = names[0][found] == '\t' ? "tab" : names[0].substr(found, 1);
  return fmt::format(
      "; the header seems to be separated by {0}, expected {1}: name it with "
      "delimiter: '{0}' in a recipe, --delimiter '{0}' in a command",
      separator, format == TableFormat::kTsv ? "tabs" : "commas");
}

std::string missing_column(const std::string& where, const Column& column,
                           const std::vector<std::string>& found, TableFormat format) {
  const std::string wanted = fmt::format("{}", fmt::join(column.names, "' or '"));
  const std::string lacks =
      no_column(fmt::format("{}: no column '{}', expected for '{}'", where, wanted, column.role),
                column.names.front(), found);
  const std::string separator = other_separator(found, format);
  if (column.role == "filter" || !separator.empty()) return lacks + separator;
  const std::string nearest = nearest_name(column.names.front(), found);
  const std::string name = nearest.empty() ? "COLUMN" : nearest;
  return fmt::format("{}. Name the column to use: {}: {} in a recipe, --{} '{}' in a command",
                     lacks, column.role, name, column.role, name);
}

const JsonField* find_member(const std::vector<JsonField>& members, const Column& column) {
  for (const std::string& name : column.names) {
    for (const JsonField& member : members) {
      if (member.name == name && member.kind != JsonField::Kind::kNull) return &member;
    }
  }
  return nullptr;
}

NamedField::Kind kind_of(const JsonField& member) {
  return member.kind == JsonField::Kind::kNumber    ? NamedField::Kind::kNumber
         : member.kind == JsonField::Kind::kBoolean ? NamedField::Kind::kBoolean
         : member.kind == JsonField::Kind::kList    ? NamedField::Kind::kList
                                                    : NamedField::Kind::kText;
}

std::string missing_member(const std::vector<JsonField>& members, const Column& column,
                           const std::string& where) {
  std::vector<std::string> names;
  for (const JsonField& member : members) {
    names.push_back(member.name);
    if (std::count(column.names.begin(), column.names.end(), member.name) == 0) continue;
    return fmt::format("{}: '{}' is null, expected a value for '{}'", where, member.name,
                       column.role);
  }
  return missing_column(where, column, names, TableFormat::kJsonl);
}

[[noreturn]] void fail_nested(const JsonField& member, const std::string& where) {
  throw RowError(fmt::format("{}: column '{}': expected a text or a number, found {}", where,
                             member.name,
                             member.kind == JsonField::Kind::kList ? "a list" : "an object"));
}

constexpr const char* kOpenQuote =
    "; a field here or in the row before begins with a quote that its line does not close: a .tsv "
    "has no quoting and no line ends within texts; write it as .csv, or without line ends";

}  // namespace

TableFile::TableFile(const std::string& path, const std::vector<Column>& columns,
                     const TableOptions& options, std::vector<std::string> others)
    : format_(table_format(path)),
      separator_(format_ == TableFormat::kTsv ? '\t' : ','),
      has_quotes_(format_ == TableFormat::kCsv),
      lines_(path, options.encoding),
      columns_(columns),
      resynchronise_(options.skips()),
      others_(std::move(others)),
      position_(columns.size(), -1) {
  options.check();
  if (!options.delimiter.empty()) {
    const char given = options.delimiter == "tab" ? '\t' : options.delimiter[0];
    has_quotes_ = has_quotes_ || given != separator_;
    separator_ = given;
  }
  is_given_ = !options.delimiter.empty();
  if (format_ != TableFormat::kJsonl) read_header();
}

std::string TableFile::where(int64_t line) const { return fmt::format("{}:{}", path(), line); }

std::string TableFile::first_replaced() const {
  return lines_.first_replaced() == 0 ? "" : where(lines_.first_replaced());
}

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
    if (separator_ == '\t' ? !line.text.empty() : !is_blank(line.text)) return true;
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
  row.kinds.assign(columns_.size(), NamedField::Kind::kNone);
  row.others.clear();
  if (format_ == TableFormat::kJsonl) {
    read_object(line, row);
  } else {
    read_fields(line, row);
  }
  return true;
}

std::vector<std::string> TableFile::split(const Line& line) {
  if (!has_quotes_) return split_tsv(line.text, where(line.number));
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
                     resynchronise_ ? kResynchroniseBytes : kMaximumLineBytes, separator_);
  } catch (const RowError&) {
    for (; !taken.empty(); taken.pop_back()) given_back_.push_front(std::move(taken.back()));
    throw;
  }
}

// Finds a separator other than the name's or the one given, which is perhaps of another file: the
// only one that cuts the header and the rows after it into the same number of fields.
void TableFile::find_separator(const Line& header) {
  constexpr size_t kLines = 20;
  if (header.text.find(separator_) != std::string::npos) return;
  std::vector<Line> lines = {header};
  for (Line line; lines.size() <= kLines && next_line(line);) lines.push_back(line);
  given_back_.insert(given_back_.end(), lines.begin() + 1, lines.end());
  std::string fitting;
  for (const char separator : std::string(kSeparators)) {
    std::vector<size_t> fields;
    size_t at = 0;
    const NextLine take = [&](std::string& text) {
      if (++at >= lines.size()) return false;
      text = lines[at].text;
      return true;
    };
    try {
      for (; at < lines.size(); ++at) {
        if (is_blank(lines[at].text)) continue;
        fields.push_back(split_csv(lines[at].text, "", take, kMaximumLineBytes, separator).size());
      }
    } catch (const RowError&) {  // the field's end is in a later line
    }
    const bool cuts = fields.size() >= 2 && fields[0] >= 2;
    if (cuts &&
        std::adjacent_find(fields.begin(), fields.end(), std::not_equal_to<>()) == fields.end()) {
      fitting += separator;
    }
  }
  if (fitting.size() != 1) return;
  const auto shown = [](char separator) {
    return separator == '\t' ? std::string("tab") : std::string(1, separator);
  };
  separator_note_ =
      fmt::format("{} is separated by '{}', as its header line shows{}", path(), shown(fitting[0]),
                  is_given_ ? fmt::format(", and not by '{}'", shown(separator_))
                            : "; --delimiter says so without a warning");
  separator_ = fitting[0];
  has_quotes_ = format_ == TableFormat::kCsv || separator_ != '\t';
}

void TableFile::read_header() {
  Line line;
  SIMILE_CHECK(next_filled_line(line), ErrorKind::kInput,
               path() + ": the file is empty, expected a header line and rows");
  find_separator(line);
  try {
    names_ = split(line);
  } catch (const RowError& error) {
    throw Error(error.kind(), error.what());  // no row can be read without it
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const std::string& name : columns_[c].names) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) continue;
      SIMILE_CHECK(std::count(names_.begin(), names_.end(), name) == 1, ErrorKind::kInput,
                   "{}: expected one column '{}', found several", where(line.number), name);
      position_[c] = found - names_.begin();
      break;
    }
    SIMILE_CHECK(has_column(c) || !columns_[c].required, ErrorKind::kInput,
                 missing_column(where(line.number), columns_[c], names_, format_));
  }
  find_others(where(line.number));
}

bool TableFile::is_other(const std::string& name) const {
  return has_all_others() || std::count(others_.begin(), others_.end(), name) > 0;
}

void TableFile::find_others(const std::string& where) {
  for (const std::string& name : others_) {
    const auto times = std::count(names_.begin(), names_.end(), name);
    SIMILE_CHECK(times > 0 || has_all_others(), ErrorKind::kInput,
                 no_column(fmt::format("{}: no column '{}', expected for 'metadata'", where, name),
                           name, names_));
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    const bool is_asked_for = std::count(position_.begin(), position_.end(), i) > 0;
    if (!is_other(names_[i]) || (has_all_others() && is_asked_for)) continue;
    SIMILE_CHECK(std::count(names_.begin(), names_.end(), names_[i]) == 1, ErrorKind::kInput,
                 "{}: expected one column '{}', found several", where, names_[i]);
    other_positions_.push_back(i);
  }
}

void TableFile::read_fields(const Line& line, Row& row) {
  const std::vector<std::string> fields = split(line);
  // Whether the last field continues on the next line, which only a .csv allows.
  const std::string& last = fields.back();
  const bool is_open = !has_quotes_ && !last.empty() && last.front() == '"' &&
                       (last.size() == 1 || last.back() != '"');
  if (fields.size() != names_.size()) {
    throw RowError(fmt::format("{}: expected {} fields ({}), found {}{}", where(row.line),
                               names_.size(), list_names(names_), fields.size(),
                               after_open_quote_ || is_open ? kOpenQuote : ""));
  }
  after_open_quote_ = is_open;
  if (!has_quotes_) {
    quoted_fields_ += std::count_if(fields.begin(), fields.end(),
                                    [](const std::string& field) { return looks_quoted(field); });
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!has_column(c)) continue;
    row.fields[c] = fields[static_cast<size_t>(position_[c])];
    if (!row.fields[c].empty()) row.kinds[c] = NamedField::Kind::kText;
  }
  for (const size_t i : other_positions_) {
    if (!fields[i].empty()) row.others.push_back({names_[i], NamedField::Kind::kText, fields[i]});
  }
}

void TableFile::read_object(const Line& line, Row& row) {
  const std::vector<JsonField> members = parse_json_members(line.text, where(line.number));
  names_.clear();
  for (const JsonField& member : members) names_.push_back(member.name);
  std::vector<const JsonField*> asked_for;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const JsonField* member = find_member(members, columns_[c]);
    asked_for.push_back(member);
    if (member == nullptr) {
      if (columns_[c].required) {
        throw RowError(missing_member(members, columns_[c], where(line.number)));
      }
      continue;
    }
    position_[c] = 0;
    const bool is_list = columns_[c].role == "filter" && is_list_of_values(*member);
    if (is_nested(*member) && !is_list) fail_nested(*member, where(line.number));
    row.fields[c] = member->value;
    row.kinds[c] = kind_of(*member);
  }
  for (const JsonField& member : members) {
    const bool is_asked_for = std::count(asked_for.begin(), asked_for.end(), &member) > 0;
    const bool cannot_be = is_nested(member) && !is_list_of_values(member);
    if (member.kind == JsonField::Kind::kNull || !is_other(member.name) ||
        (has_all_others() && (is_asked_for || cannot_be))) {
      continue;
    }
    if (cannot_be) fail_nested(member, where(line.number));
    row.others.push_back({member.name, kind_of(member), member.value});
  }
}

}  // namespace simile
