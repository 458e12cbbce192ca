// SPDX-License-Identifier: Apache-2.0
// A filter of metadata_filter.h, parsed.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"

namespace simile::detail {

struct FilterValue {
  std::string text;
  Json spelt;  // the number or truth value that a word spells; null for others and in quotes
};

struct FilterNode {
  enum class Kind { kEvery, kAny, kNot, kTest };
  enum class Operator { kEqual, kDiffers, kLess, kAtMost, kMore, kAtLeast, kIn, kNotIn };

  Kind kind = Kind::kTest;
  std::vector<FilterNode> parts;  // of all kinds but kTest; one of kNot
  std::string column;             // these of kTest
  Operator comparison = Operator::kEqual;
  std::vector<FilterValue> values;  // one but for kIn and kNotIn

  // Of a test.
  bool holds(const Json& value) const;
};

// A scalar of metadata, so that numbers compare by their amounts.
Json comparable(Json value);

}  // namespace simile::detail
