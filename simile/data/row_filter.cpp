// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/row_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using Operator = RowCondition::Operator;

struct Symbol {
  std::string_view written;
  Operator meaning;
};

// A symbol that begins with another one comes before it.
constexpr Symbol kSymbols[] = {
    {"!=", Operator::kDiffers},
    {"<=", Operator::kAtMost},
    {">=", Operator::kAtLeast},
    {"==", Operator::kEqual},
    {"=", Operator::kEqual},
    {"<", Operator::kLess},
    {">", Operator::kMore},
    {" contains ", Operator::kContains},
    {" not contains ", Operator::kLacks},
    {" in ", Operator::kIn},
    {" not in ", Operator::kNotIn},
};

bool is_quote(char c) { return c == '"' || c == '\''; }

std::string take_quotes_off(const std::string& text) {
  const bool quoted = text.size() >= 2 && is_quote(text[0]) && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Where the quotes end that `text` begins with; 0 where it has none.
size_t end_of_quotes(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos || !is_quote(text[begin])) return 0;
  const size_t end = text.find(text[begin], begin + 1);
  return end == std::string::npos ? 0 : end + 1;
}

// The operator that stands first behind a column in quotes; nullptr when there is none, or nothing
// before it.
const Symbol* find_symbol(const std::string& written, size_t& at) {
  for (at = end_of_quotes(written); at < written.size(); ++at) {
    for (const Symbol& symbol : kSymbols) {
      if (written.compare(at, symbol.written.size(), symbol.written) != 0) continue;
      return trim(written.substr(0, at)).empty() ? nullptr : &symbol;
    }
  }
  return nullptr;
}

// "a, 'b, c', d": what commas outside of quotes separate.
std::vector<std::string> split_values(const std::string& list) {
  std::vector<std::string> values(1);
  char quote = 0;
  for (const char c : list) {
    if (quote == 0 && is_quote(c) && trim(values.back()).empty()) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    if (c == ',' && quote == 0) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = take_quotes_off(trim(value));
  return values;
}

bool is_order(Operator comparison) {
  return comparison == Operator::kLess || comparison == Operator::kAtMost ||
         comparison == Operator::kMore || comparison == Operator::kAtLeast;
}

RowCondition parse_condition(const std::string& written) {
  size_t at = 0;
  const Symbol* symbol = find_symbol(written, at);
  SIMILE_CHECK(
      symbol != nullptr, ErrorKind::kRecipe,
      fmt::format("filter: expected COLUMN, one of = != < <= > >= contains, in, not in, and "
                  "a value, such as 'score >= 3', found '{}'",
                  written));
  const bool is_list = symbol->meaning == Operator::kIn || symbol->meaning == Operator::kNotIn;
  const std::string value = trim(written.substr(at + symbol->written.size()));
  SIMILE_CHECK(!value.empty() || !is_order(symbol->meaning), ErrorKind::kRecipe,
               fmt::format("filter: expected a number or text to compare with behind '{}', found "
                           "'{}'",
                           symbol->written, written));
  return {take_quotes_off(trim(written.substr(0, at))), symbol->meaning,
          is_list ? split_values(value) : std::vector<std::string>{take_quotes_off(value)},
          written};
}

// As numbers when both are.
bool is_equal(const std::string& field, const std::string& value) {
  double left = 0, right = 0;
  const bool are_numbers = parse_number(field, left) && parse_number(value, right);
  return are_numbers ? left == right : field == value;
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
    default:
      return false;
  }
}

}  // namespace

std::string RowCondition::problem(const std::string& field) const {
  double number = 0;
  if (!is_order(comparison) || field.empty() || !parse_number(values[0], number)) return "";
  if (parse_number(field, number)) return "";
  return fmt::format("expected a number to compare ({}), found '{}'", written,
                     begin_of_text(field, 80));
}

bool RowCondition::holds(const std::string& field) const {
  const std::string& value = values[0];
  if (comparison == Operator::kContains || comparison == Operator::kLacks) {
    return (field.find(value) != std::string::npos) == (comparison == Operator::kContains);
  }
  if (comparison == Operator::kIn || comparison == Operator::kNotIn) {
    const bool is_in = std::any_of(values.begin(), values.end(),
                                   [&](const std::string& each) { return is_equal(field, each); });
    return is_in == (comparison == Operator::kIn);
  }
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
