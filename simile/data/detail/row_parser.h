// SPDX-License-Identifier: Apache-2.0
// One record of a table: its fields, and the treatment of records that cannot be read (reader.h).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/error.h"
#include "simile/data/line_reader.h"

namespace simile {

struct ReadReport;

// An error in one row alone (ErrorKind::kInput); the message begins with file and line.
class RowError : public Error {
 public:
  explicit RowError(const std::string& message) : Error(ErrorKind::kInput, message) {}
};

// Throws `error` unless malformed rows are skipped; then `report` counts it and keeps the first.
void leave_out_malformed(const RowError& error, bool skip_malformed, ReadReport& report);

// To be called at the end. Error (kInput): all rows, or over half of at least 20, are malformed.
void check_malformed(const ReadReport& report);

// A row with more fields or members is malformed (RowError), so memory is bounded by its line.
constexpr size_t kMaximumFields = 65536;

// Fields between tabs. RowError, with `where`: too many.
std::vector<std::string> split_tsv(const std::string& line, const std::string& where);

// Gives the line after the one given last; false at the end.
using NextLine = std::function<bool(std::string& line)>;

// Fields of an RFC 4180 record that begins with `line`; a quoted field that spans lines takes the
// lines after it from `next_line`. RowError, with `where`: text after a closing quote, a quote that
// is not closed within `maximum_bytes`.
std::vector<std::string> split_csv(const std::string& line, const std::string& where,
                                   const NextLine& next_line,
                                   int64_t maximum_bytes = kMaximumLineBytes, char separator = ',');

struct JsonField {
  enum class Kind { kText, kNumber, kBoolean, kNull, kList, kObject };
  std::string name;
  Kind kind = Kind::kNull;
  // The text; a number or truth value as written; a list of these as JSON; nothing for the others.
  std::string value;
};

inline bool is_nested(const JsonField& field) {
  return field.kind == JsonField::Kind::kList || field.kind == JsonField::Kind::kObject;
}
inline bool is_list_of_values(const JsonField& field) {
  return field.kind == JsonField::Kind::kList && !field.value.empty();
}

// The top-level members of one JSON object; other nested values are checked and skipped.
// RowError, with `where`: text that is not one JSON object, too many members, a name twice.
std::vector<JsonField> parse_json_members(const std::string& line, const std::string& where);

// Whether `text`, ignoring white space around it and a plus, is a number. The first is finite. All
// numbers of data files are read so.
bool parse_number(std::string_view text, double& number);
bool parse_number(std::string_view text, int64_t& number);

// "0,5" as "0.5"; an empty text if it is not a number with a decimal comma.
std::string with_decimal_point(const std::string& text);

// Is a field of a .tsv in quotes of pandas or a spreadsheet: with doubled quotes inside?
bool looks_quoted(std::string_view field);

// Message about a missing column: `message`, the columns found, and the nearest name.
std::string no_column(const std::string& message, const std::string& wanted,
                      const std::vector<std::string>& names);

// "sentence1, sentence2, score", of a table with hundreds of columns only the first.
std::string list_names(const std::vector<std::string>& names);

}  // namespace simile
