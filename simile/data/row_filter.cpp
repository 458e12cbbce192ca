// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/row_filter.h"

#include <fmt/format.h>

#include <string_view>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/text/white_space.h"

namespace simile {
namespace {

using Operator = RowCondition::Operator;

struct Symbol {
  std::string_view written;
  Operator meaning;
};

// What begins with another of them stands before it.
constexpr Symbol kSymbols[] = {
    {"!=", Operator::kDiffers}, {"<=", Operator::kAtMost},
    {">=", Operator::kAtLeast}, {"==", Operator::kEqual},
    {"=", Operator::kEqual},    {"<", Operator::kLess},
    {">", Operator::kMore},     {" contains ", Operator::kContains},
};

std::string take_quotes_off(const std::string& text) {
  const bool quoted =
      text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The operator that stands first; nullptr when there is none, or nothing before it.
const Symbol* find_symbol(const std::string& written, size_t& at) {
  for (at = 0; at < written.size(); ++at) {
    for (const Symbol& symbol : kSymbols) {
      if (written.compare(at, symbol.written.size(), symbol.written) != 0) continue;
      return trim(written.substr(0, at)).empty() ? nullptr : &symbol;
    }
  }
  return nullptr;
}

RowCondition parse_condition(const std::string& written) {
  size_t at = 0;
  const Symbol* symbol = find_symbol(written, at);
  SIMILE_CHECK(symbol != nullptr, ErrorKind::kRecipe,
               fmt::format("filter: expected COLUMN, one of = != < <= > >= contains, and a value, "
                           "such as 'score >= 3', found '{}'",
                           written));
  return {take_quotes_off(trim(written.substr(0, at))), symbol->meaning,
          take_quotes_off(trim(written.substr(at + symbol->written.size()))), written};
}

bool is_order(Operator comparison) {
  return comparison == Operator::kLess || comparison == Operator::kAtMost ||
         comparison == Operator::kMore || comparison == Operator::kAtLeast;
}

template <typename T>
bool compare(const T& field, Operator comparison, const T& value) {
  switch (comparison) {
    case Operator::kEqual:
      return field == value;
    case Operator::kDiffers:
      return field != value;
    case Operator::kLess:
      return field < value;
    case Operator::kAtMost:
      return field <= value;
    case Operator::kMore:
      return field > value;
    case Operator::kAtLeast:
      return field >= value;
    case Operator::kContains:
      break;
  }
  return false;
}

}  // namespace

std::string RowCondition::problem(const std::string& field) const {
  double number = 0;
  if (!is_order(comparison) || field.empty() || !parse_number(value, number)) return "";
  if (parse_number(field, number)) return "";
  return fmt::format("expected a number to compare ({}), found '{}'", written,
                     begin_of_text(field, 80));
}

bool RowCondition::holds(const std::string& field) const {
  if (comparison == Operator::kContains) return field.find(value) != std::string::npos;
  if (is_order(comparison) && field.empty()) return false;
  double left = 0, right = 0;
  if (parse_number(field, left) && parse_number(value, right)) {
    return compare(left, comparison, right);
  }
  return compare(field, comparison, value);
}

std::vector<RowCondition> parse_conditions(const std::vector<std::string>& conditions) {
  std::vector<RowCondition> parsed;
  for (const std::string& condition : conditions) parsed.push_back(parse_condition(condition));
  return parsed;
}

}  // namespace simile
