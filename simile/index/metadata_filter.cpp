// SPDX-License-Identifier: Apache-2.0
#include "simile/index/metadata_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "simile/core/check.h"
#include "simile/index/detail/metadata_columns.h"

namespace simile {
namespace {

using detail::FilterNode;
using detail::FilterValue;
using detail::Json;
using Operator = FilterNode::Operator;

constexpr size_t kMaximumBytes = 16384;
constexpr int kMaximumDepth = 64;
constexpr size_t kMaximumColumns = 32;

struct Token {
  enum class Kind { kWord, kQuoted, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t begin = 0;
};

// What begins with another of them stands before it.
constexpr const char* kSymbols[] = {"!=", "<=", ">=", "==", "=", "<", ">", "(", ")", ","};

std::string shown(const Token& token) {
  constexpr size_t kShown = 40;
  if (token.kind == Token::Kind::kEnd) return "the end";
  return fmt::format("'{}'{}", token.text.substr(0, kShown),
                     token.text.size() > kShown ? "..." : "");
}

[[noreturn]] void fail_at(size_t place, const std::string& what) {
  throw_error(ErrorKind::kUsage, "filter: at character {}: {}", place + 1, what);
}

class FilterLexer {
 public:
  explicit FilterLexer(const std::string& written) : written_(written) {}

  Token next() {
    at_ = std::min(written_.find_first_not_of(" \t\r\n", at_), written_.size());
    Token token;
    token.begin = at_;
    if (at_ == written_.size()) return token;
    if (is_quote(written_[at_])) return take_quoted();
    for (const char* const symbol : kSymbols) {
      if (written_.compare(at_, std::strlen(symbol), symbol) != 0) continue;
      at_ += std::strlen(symbol);
      return {Token::Kind::kSymbol, symbol, token.begin};
    }
    return take_word();
  }

 private:
  static bool is_quote(char c) { return c == '"' || c == '\''; }

  Token take_quoted() {
    Token token{Token::Kind::kQuoted, "", at_};
    const char quote = written_[at_++];
    for (;; ++at_) {
      if (at_ == written_.size())
        fail_at(token.begin, fmt::format("expected another {} to end the quotes", quote));
      if (written_[at_] == quote && written_.compare(at_, 2, std::string(2, quote)) != 0) break;
      if (written_[at_] == quote) ++at_;
      token.text += written_[at_];
    }
    ++at_;
    return token;
  }

  Token take_word() {
    const size_t begin = at_;
    at_ = std::min(written_.find_first_of(" \t\r\n()=!<>,'\"", at_), written_.size());
    if (at_ == begin) fail_at(begin, "expected != where ! stands");
    return {Token::Kind::kWord, written_.substr(begin, at_ - begin), begin};
  }

  const std::string& written_;
  size_t at_ = 0;
};

struct Comparison {
  const char* written;
  Operator meaning;
};
constexpr Comparison kComparisons[] = {
    {"=", Operator::kEqual},    {"==", Operator::kEqual},  {"!=", Operator::kDiffers},
    {"<", Operator::kLess},     {"<=", Operator::kAtMost}, {">", Operator::kMore},
    {">=", Operator::kAtLeast},
};

class FilterParser {
 public:
  explicit FilterParser(const std::string& written) : lexer_(written) { take(); }

  FilterNode parse() {
    FilterNode root = parse_any();
    if (next_.kind != Token::Kind::kEnd) fail("and, or, or the end");
    return root;
  }

 private:
  static bool is_keyword(const Token& token, std::string_view lower, std::string_view upper) {
    return token.kind == Token::Kind::kWord && (token.text == lower || token.text == upper);
  }
  static bool is_any_keyword(const Token& token) {
    return is_keyword(token, "and", "AND") || is_keyword(token, "or", "OR") ||
           is_keyword(token, "not", "NOT") || is_keyword(token, "in", "IN");
  }
  bool is_symbol(std::string_view symbol) const {
    return next_.kind == Token::Kind::kSymbol && next_.text == symbol;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    fail_at(next_.begin, fmt::format("expected {}, found {}", expected, shown(next_)));
  }

  Token take() {
    Token taken = std::move(next_);
    next_ = lexer_.next();
    return taken;
  }

  bool take_keyword(std::string_view lower, std::string_view upper) {
    if (!is_keyword(next_, lower, upper)) return false;
    take();
    return true;
  }

  void take_symbol(const char* symbol, const std::string& expected) {
    if (!is_symbol(symbol)) fail(expected);
    take();
  }

  template <typename ParsePart>
  FilterNode parse_parts(FilterNode::Kind kind, std::string_view lower, std::string_view upper,
                         const ParsePart& parse_part) {
    FilterNode node;
    node.kind = kind;
    do {
      node.parts.push_back(parse_part());
    } while (take_keyword(lower, upper));
    return node.parts.size() == 1 ? std::move(node.parts[0]) : node;
  }

  FilterNode parse_any() {
    return parse_parts(FilterNode::Kind::kAny, "or", "OR", [this] {
      return parse_parts(FilterNode::Kind::kEvery, "and", "AND", [this] { return parse_one(); });
    });
  }

  FilterNode parse_one() {
    if (!is_symbol("(") && !is_keyword(next_, "not", "NOT")) return parse_test();
    if (++depth_ > kMaximumDepth) {
      fail_at(next_.begin, fmt::format("expected no more than {} of ( and not within one another",
                                       kMaximumDepth));
    }
    FilterNode node;
    if (take().text == "(") {
      node = parse_any();
      take_symbol(")", "and, or, or )");
    } else {
      node.kind = FilterNode::Kind::kNot;
      node.parts.push_back(parse_one());
    }
    --depth_;
    return node;
  }

  FilterNode parse_test() {
    FilterNode test;
    test.column = take_name("a column, not, or (");
    const bool negated = take_keyword("not", "NOT");
    if (take_keyword("in", "IN")) {
      test.comparison = negated ? Operator::kNotIn : Operator::kIn;
      take_values(test.values);
      return test;
    }
    if (negated) fail("in behind not");
    test.comparison = take_comparison(test.column);
    test.values.push_back(take_value());
    return test;
  }

  std::string take_name(const std::string& expected) {
    const bool is_name = next_.kind == Token::Kind::kQuoted ||
                         (next_.kind == Token::Kind::kWord && !is_any_keyword(next_));
    if (!is_name) fail(expected);
    return take().text;
  }

  Operator take_comparison(const std::string& column) {
    for (const Comparison& each : kComparisons) {
      if (!is_symbol(each.written)) continue;
      take();
      return each.meaning;
    }
    fail(fmt::format("=, !=, <, <=, >, >=, in or not in behind the column '{}'",
                     column.substr(0, 40)));
  }

  FilterValue take_value() {
    const bool is_word = next_.kind == Token::Kind::kWord;
    FilterValue value;
    value.text = take_name("a value");
    if (!is_word) return value;
    const Json spelt = Json::parse(value.text, nullptr, false);
    if (spelt.is_number() || spelt.is_boolean()) value.spelt = detail::comparable(spelt);
    return value;
  }

  void take_values(std::vector<FilterValue>& values) {
    take_symbol("(", "( and values with commas between");
    values.push_back(take_value());
    while (is_symbol(",")) {
      take();
      values.push_back(take_value());
    }
    take_symbol(")", ", or )");
  }

  FilterLexer lexer_;
  Token next_;
  int depth_ = 0;
};

void collect_columns(const FilterNode& node, std::set<std::string>& columns) {
  if (node.kind == FilterNode::Kind::kTest) columns.insert(node.column);
  for (const FilterNode& part : node.parts) collect_columns(part, columns);
}

bool is_equal_to(const Json& value, const FilterValue& wanted) {
  if (value.is_string()) return value.get_ref<const std::string&>() == wanted.text;
  const bool same_kind = (value.is_number() && wanted.spelt.is_number()) ||
                         (value.is_boolean() && wanted.spelt.is_boolean());
  return same_kind && value == wanted.spelt;
}

template <typename T>
bool is_in_order(const T& value, Operator comparison, const T& wanted) {
  switch (comparison) {
    case Operator::kLess:
      return value < wanted;
    case Operator::kAtMost:
      return value <= wanted;
    case Operator::kMore:
      return value > wanted;
    default:
      return value >= wanted;
  }
}

}  // namespace

namespace detail {

Json comparable(Json value) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() > kMost) return value.get<double>();
  return value;
}

bool FilterNode::holds(const Json& value) const {
  const auto is_equal = [&](const FilterValue& wanted) { return is_equal_to(value, wanted); };
  const FilterValue& wanted = values[0];
  switch (comparison) {
    case Operator::kEqual:
    case Operator::kIn:
      return std::any_of(values.begin(), values.end(), is_equal);
    case Operator::kDiffers:
    case Operator::kNotIn:
      return std::none_of(values.begin(), values.end(), is_equal);
    default:
      break;
  }
  if (wanted.spelt.is_number()) {
    return value.is_number() && is_in_order(value, comparison, wanted.spelt);
  }
  return value.is_string() &&
         is_in_order(value.get_ref<const std::string&>(), comparison, wanted.text);
}

}  // namespace detail

MetadataFilter::MetadataFilter(const std::string& written) {
  if (written.size() > kMaximumBytes) {
    fail_at(kMaximumBytes,
            fmt::format("expected the end, a filter is at most {} bytes long", kMaximumBytes));
  }
  root_ = std::make_shared<const FilterNode>(FilterParser(written).parse());
  const size_t named = columns().size();
  SIMILE_CHECK(named <= kMaximumColumns, ErrorKind::kUsage,
               "filter: expected at most {} columns, found {}", kMaximumColumns, named);
}

std::vector<std::string> MetadataFilter::columns() const {
  std::set<std::string> columns;
  if (root_ != nullptr) collect_columns(*root_, columns);
  return {columns.begin(), columns.end()};
}

bool MetadataFilter::matches(const std::string& metadata) const {
  if (matches_all()) return true;
  detail::MetadataColumns columns;
  for (const std::string& name : this->columns()) {
    auto column = std::make_shared<detail::MetadataColumn>(1);
    column->set_from(0, name, detail::read_metadata(metadata));
    columns[name] = std::move(column);
  }
  return detail::select_rows(*root_, columns, 1)[0] != 0;
}

}  // namespace simile
