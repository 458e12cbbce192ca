// SPDX-License-Identifier: Apache-2.0
// Conditions that a row must meet. Used by simile/data/reader.h.
#pragma once

#include <string>
#include <vector>

namespace simile {

// COLUMN OPERATOR VALUE, as in simile/data/reader.h.
struct RowCondition {
  enum class Operator {
    kEqual,
    kDiffers,
    kLess,
    kAtMost,
    kMore,
    kAtLeast,
    kContains,
    kLacks,
    kIn,
    kNotIn
  };

  std::string column;
  Operator comparison = Operator::kEqual;
  std::vector<std::string> values;  // one but for kIn and kNotIn
  std::string written;              // the whole condition, for messages

  // RowError's reason when the condition cannot be asked of this field, otherwise empty.
  std::string problem(const std::string& field) const;
  bool holds(const std::string& field) const;
};

// Errors: ErrorKind::kRecipe for what is no condition.
std::vector<RowCondition> parse_conditions(const std::vector<std::string>& conditions);

}  // namespace simile
