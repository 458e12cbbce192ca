// SPDX-License-Identifier: Apache-2.0
// Which rows of a table are read, and which documents a search may find, by their metadata:
//
//   year >= 2020 and (lang in (en, de) or not reviewed = true)
//
//   filter = any;  any = all {"or" all};  all = one {"and" one}
//   one    = "not" one | "(" any ")" | column test
//   test   = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | ["not"] "in" "(" value {"," value} ")"
//            | ["not"] "contains" value | ["not"] "starts" "with" value
//   one    = "exists" column
//
// Columns and values are words (any characters but white space ( ) , = ! < > and quotes) or are
// written in quotes ' or ", inside which the same quote is doubled. `and`, `or`, `not`, `in` and
// `exists` are written in lower case or in capitals; as names they need quotes.
//
// A test compares the value that a document has in the column. A document without the column passes
// no test, not even `!=` or `not in`; `not column = value` does match it. A list of values passes
// if one of them passes; with `not` or `!=`, if all of them pass. An empty list counts as no value.
// Numbers are equal if their amounts are, truth values if they are the same, texts if their bytes
// are. A word such as 2020 or true equals the number or truth value as well as the text; in quotes
// it equals the text alone. < <= > >= compare numbers with a word that is a number, and texts, byte
// by byte, with any other word. Values of other kinds are never less or more. A text contains its
// substrings; a number or truth value contains those of its JSON text.
//
// A date such as 2024-05-01, or with a time such as 2024-05-01T12:30:00+02:00 (ISO 8601; UTC
// without an offset), in quotes or not, is compared with dates alone. A day covers all of its
// times: 2024-05-01T12:30 equals 2024-05-01 and is neither less nor more.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace simile {

namespace detail {
struct FilterNode;
}

class MetadataFilter {
 public:
  MetadataFilter() = default;  // all documents match
  // Errors: kUsage, with the place, for text that is not a filter, is longer than 16 KiB, nested
  // deeper than 64 times, or names more than 32 columns.
  explicit MetadataFilter(const std::string& written);

  bool matches_all() const { return root_ == nullptr; }
  std::vector<std::string> columns() const;  // each once
  // `metadata` as in Document.
  bool matches(const std::string& metadata) const;

  const detail::FilterNode* root() const { return root_.get(); }

 private:
  std::shared_ptr<const detail::FilterNode> root_;
};

}  // namespace simile
