// SPDX-License-Identifier: Apache-2.0
// One record of a table, taken apart. Used by simile/data/reader.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simile/data/line_reader.h"

namespace simile {

// Fields between tabs.
std::vector<std::string> split_tsv(const std::string& line);

// Fields of an RFC 4180 record that begins with `line`; a quoted field that spans lines takes the
// next lines from `lines`. Errors (ErrorKind::kInput, file and line): a quote that is not closed,
// text after a closing quote.
std::vector<std::string> split_csv(const std::string& line, LineReader& lines);

struct JsonField {
  enum class Kind { kText, kNumber, kBoolean, kNull, kList, kObject };
  std::string name;
  Kind kind = Kind::kNull;
  std::string value;  // the text; a number or truth value as written; nothing for the others
};

// The top-level members of one JSON object; what is nested in them is checked and passed over.
// Errors (ErrorKind::kInput, with `where`): text that is not one JSON object.
std::vector<JsonField> parse_json_members(const std::string& line, const std::string& where);

}  // namespace simile
