// SPDX-License-Identifier: Apache-2.0
// A parsed filter (metadata_filter.h), and the values that it tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/data/reader.h"

namespace simile::detail {

// The first and last microsecond of a date, since 1970; both belong to it.
struct DateSpan {
  int64_t first = 0, last = 0;
};
// Empty if the text is not a date.
std::optional<DateSpan> parse_date(const std::string& text);

struct FilterValue {
  std::string text;
  Json spelt;  // the number or truth value that a word spells; null for others and in quotes
  std::optional<DateSpan> date = {};
};

struct FilterNode {
  enum class Kind { kEvery, kAny, kNot, kTest };
  enum class Operator { kLess, kAtMost, kMore, kAtLeast, kEqual, kContains, kStarts, kExists };

  Kind kind = Kind::kTest;
  std::vector<FilterNode> parts;  // of all kinds but kTest; one of kNot
  std::string column;             // these of kTest
  Operator comparison = Operator::kExists;
  bool is_negative = false;         // !=, and `not` in a test: no value passes the comparison
  std::vector<FilterValue> values;  // several of kEqual, which is `in` too; none of kExists

  // Whether a value, or a list of them, passes this test.
  bool holds(const Json& value) const;
  // Whether the object's members pass; one that is null or missing has no value. `unordered`, if
  // given, becomes the first test that decided and compares a text with a number.
  bool matches(const Json& object, const FilterNode** unordered = nullptr) const;
};

// A value of metadata, so that numbers compare by their amounts.
Json comparable(Json value);

// The field of a table as metadata; null for kNone. `is_typed`: its kind is known, as in a .jsonl;
// otherwise a text that JSON reads as a number is one.
Json value_of(const std::string& field, NamedField::Kind kind, bool is_typed);

// The object of a Document's metadata; an empty one for an empty text. Errors (kInput): no object
// of texts, numbers and truth values, and lists of these.
Json read_metadata(const std::string& metadata);

}  // namespace simile::detail
