// SPDX-License-Identifier: Apache-2.0
// Which documents a search may find, by their metadata:
//
//   year >= 2020 and (lang in (en, de) or not reviewed = true)
//
//   filter = any;  any = all {"or" all};  all = one {"and" one}
//   one    = "not" one | "(" any ")" | column test
//   test   = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | ["not"] "in" "(" value {"," value} ")"
//
// Columns and values are words (letters, digits and all but white space ( ) , = ! < > and quotes)
// or stand in quotes ' or ", in which a quote of the kind is written twice. `and`, `or`, `not` and
// `in` are written so or in capitals; as a name each stands in quotes.
//
// A test holds of the value that a document has in the column, and of no document without it: also
// `!=` and `not in` do not, but `not column = value` does. Equal are numbers of one amount, truth
// values and texts of the same bytes; a word such as 2020 or true is equal to the number or truth
// value as well as to the text, in quotes to the text alone. < <= > >= compare numbers with a word
// that is a number, and texts, by their bytes, with any other. Nothing else is less or more.
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
  // Errors: kUsage, with the place, for what is no filter, is longer than 16 KiB, nested deeper
  // than 64 times, or names more than 32 columns.
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
