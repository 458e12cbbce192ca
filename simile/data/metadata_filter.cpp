// SPDX-License-Identifier: Apache-2.0
#include "simile/data/metadata_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/detail/filter_node.h"

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

// Longer symbols come before those that they begin with.
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
  bool is_negative = false;
};
constexpr Comparison kComparisons[] = {
    {"=", Operator::kEqual},    {"==", Operator::kEqual},  {"!=", Operator::kEqual, true},
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
           is_keyword(token, "not", "NOT") || is_keyword(token, "in", "IN") ||
           is_keyword(token, "exists", "EXISTS");
  }
  bool is_symbol(std::string_view symbol) const {
    return next_.kind == Token::Kind::kSymbol && next_.text == symbol;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    const bool is_second =
        next_.kind == Token::Kind::kWord && after_word_ && !is_any_keyword(next_);
    fail_at(next_.begin, fmt::format("expected {}, found {}{}", expected, shown(next_),
                                     is_second ? "; several words stand in quotes" : ""));
  }

  Token take() {
    Token taken = std::move(next_);
    after_word_ = taken.kind == Token::Kind::kWord && !is_any_keyword(taken);
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
    if (take_keyword("exists", "EXISTS")) {
      test.column = take_name("a column");
      return test;
    }
    test.column = take_name("a column, not, exists, or (");
    test.is_negative = take_keyword("not", "NOT");
    if (take_keyword("in", "IN")) {
      test.comparison = Operator::kEqual;
      take_symbol("(", "( and values with commas between, as in (a, b)");
      do {
        test.values.push_back(take_value());
      } while (is_symbol(",") && take().text == ",");
      take_symbol(")", ", or )");
      return test;
    }
    if (take_keyword("contains", "CONTAINS")) {
      test.comparison = Operator::kContains;
    } else if (take_keyword("starts", "STARTS")) {
      if (!take_keyword("with", "WITH")) fail("with behind starts");
      test.comparison = Operator::kStarts;
    } else {
      if (test.is_negative) fail("in, contains or starts with behind not");
      take_comparison(test);
    }
    test.values.push_back(take_value());
    return test;
  }

  std::string take_name(const std::string& expected) {
    const bool is_name = next_.kind == Token::Kind::kQuoted ||
                         (next_.kind == Token::Kind::kWord && !is_any_keyword(next_));
    if (!is_name) fail(expected);
    return take().text;
  }

  void take_comparison(FilterNode& test) {
    const auto* const found =
        std::find_if(std::begin(kComparisons), std::end(kComparisons),
                     [this](const Comparison& each) { return is_symbol(each.written); });
    if (found == std::end(kComparisons)) {
      fail(
          fmt::format("=, !=, <, <=, >, >=, [not] in, [not] contains or [not] starts with behind "
                      "the column '{}'",
                      test.column.substr(0, 40)));
    }
    take();
    test.comparison = found->meaning;
    test.is_negative = found->is_negative;
  }

  FilterValue take_value() {
    const bool is_word = next_.kind == Token::Kind::kWord;
    FilterValue value;
    value.text = take_name("a value");
    value.date = detail::parse_date(value.text);
    if (!is_word) return value;
    const Json spelt = Json::parse(value.text, nullptr, false);
    if (spelt.is_number() || spelt.is_boolean()) value.spelt = detail::comparable(spelt);
    return value;
  }

  FilterLexer lexer_;
  Token next_;
  bool after_word_ = false;  // which is no keyword
  int depth_ = 0;
};

void collect_columns(const FilterNode& node, std::set<std::string>& columns) {
  if (node.kind == FilterNode::Kind::kTest) columns.insert(node.column);
  for (const FilterNode& part : node.parts) collect_columns(part, columns);
}

bool is_equal_to(const Json& value, const FilterValue& wanted) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == wanted.text || !wanted.date) return text == wanted.text;
    const std::optional<detail::DateSpan> date = detail::parse_date(text);
    return date && date->first >= wanted.date->first && date->last <= wanted.date->last;
  }
  const bool same_kind = (value.is_number() && wanted.spelt.is_number()) ||
                         (value.is_boolean() && wanted.spelt.is_boolean());
  return same_kind && value == wanted.spelt;
}

bool is_order(Operator comparison) { return comparison <= Operator::kAtLeast; }

// A number or truth value as JSON writes it.
std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Takes a number of `count` digits, and one of the characters `behind` it, if any; -1 if missing.
int take_digits(const std::string& text, size_t& at, size_t count, std::string_view behind = "") {
  int number = 0;
  const size_t end = at + count;
  for (; at < end; ++at) {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') return -1;
    number = 10 * number + (text[at] - '0');
  }
  if (behind.empty()) return number;
  const bool is_behind = at < text.size() && behind.find(text[at]) != std::string_view::npos;
  ++at;
  return is_behind ? number : -1;
}

// `first` and `last`: of all that the value spans, and so on.
template <typename T>
bool is_in_order(const T& first, const T& last, Operator comparison, const T& wanted_first,
                 const T& wanted_last) {
  return comparison == Operator::kLess     ? last < wanted_first
         : comparison == Operator::kAtMost ? last <= wanted_last
         : comparison == Operator::kMore   ? first > wanted_last
                                           : first >= wanted_first;
}

bool passes_comparison(const Json& value, Operator comparison, const FilterValue& wanted) {
  if (comparison == Operator::kEqual) return is_equal_to(value, wanted);
  if (comparison == Operator::kContains) {
    return text_of(value).find(wanted.text) != std::string::npos;
  }
  if (comparison == Operator::kStarts) return starts_with(text_of(value), wanted.text);
  if (!wanted.date && wanted.spelt.is_number()) {
    return value.is_number() && is_in_order(value, value, comparison, wanted.spelt, wanted.spelt);
  }
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (!wanted.date) return is_in_order(text, text, comparison, wanted.text, wanted.text);
  const std::optional<detail::DateSpan> date = detail::parse_date(text);
  return date &&
         is_in_order(date->first, date->last, comparison, wanted.date->first, wanted.date->last);
}

}  // namespace

namespace detail {

std::optional<DateSpan> parse_date(const std::string& text) {
  constexpr int64_t kSecond = 1000000, kDay = 86400 * kSecond;
  size_t at = 0;
  std::tm day = {};
  day.tm_year = take_digits(text, at, 4, "-") - 1900;
  day.tm_mon = take_digits(text, at, 2, "-") - 1;
  day.tm_mday = take_digits(text, at, 2);
  if (day.tm_year < -1899 || day.tm_mon < 0 || day.tm_mday < 1) return std::nullopt;
  const std::tm written = day;
  const int64_t today = timegm(&day) * kSecond;
  if (day.tm_mon != written.tm_mon || day.tm_mday != written.tm_mday) return std::nullopt;
  if (at == text.size()) return DateSpan{today, today + kDay - 1};
  const bool has_time = text[at] == 'T' || text[at] == 't' || text[at] == ' ';
  const int hour = take_digits(text, ++at, 2, ":"), minute = take_digits(text, at, 2);
  if (!has_time || hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
  int64_t begin = today + (hour * 60 + minute) * 60 * kSecond, span = 60 * kSecond;
  const auto is_next = [&](std::string_view characters) {
    const bool is_it = at < text.size() && characters.find(text[at]) != std::string_view::npos;
    at += is_it ? 1 : 0;
    return is_it;
  };
  if (is_next(":")) {
    const int second = take_digits(text, at, 2);
    if (second < 0 || second > 60) return std::nullopt;
    begin += second * kSecond;
    span = kSecond;
    const bool has_part = is_next(".,");
    for (; has_part && is_next("0123456789");) {
      if (span == 1) continue;  // smaller than a microsecond
      span /= 10;
      begin += (text[at - 1] - '0') * span;
    }
    if (has_part && span == kSecond) return std::nullopt;
  }
  if (is_next("+-")) {
    const int64_t sign = text[at - 1] == '+' ? 1 : -1;
    const int hours = take_digits(text, at, 2);
    const int minutes = at == text.size() ? 0 : (is_next(":"), take_digits(text, at, 2));
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
    begin -= sign * (hours * 60 + minutes) * 60 * kSecond;
  } else {
    is_next("Zz");
  }
  if (at != text.size()) return std::nullopt;
  return DateSpan{begin, begin + span - 1};
}

Json comparable(Json value) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() > kMost) return value.get<double>();
  if (value.is_array()) std::transform(value.begin(), value.end(), value.begin(), comparable);
  return value;
}

bool FilterNode::holds(const Json& value) const {
  if (value.is_array()) {
    const auto holds_of = [this](const Json& element) { return holds(element); };
    return is_negative ? std::all_of(value.begin(), value.end(), holds_of)
                       : std::any_of(value.begin(), value.end(), holds_of);
  }
  const auto passes = [&](const FilterValue& wanted) {
    return passes_comparison(value, comparison, wanted);
  };
  return comparison == Operator::kExists ||
         std::any_of(values.begin(), values.end(), passes) != is_negative;
}

bool FilterNode::matches(const Json& object, const FilterNode** unordered) const {
  const auto passes = [&](const FilterNode& part) { return part.matches(object, unordered); };
  if (kind == Kind::kEvery) return std::all_of(parts.begin(), parts.end(), passes);
  if (kind != Kind::kTest)
    return std::any_of(parts.begin(), parts.end(), passes) == (kind == Kind::kAny);
  const auto found = object.find(column);
  if (found == object.end() || found->empty()) return false;  // null is, too
  if (unordered != nullptr && *unordered == nullptr && is_order(comparison) && found->is_string() &&
      values[0].spelt.is_number())
    *unordered = this;
  return holds(comparable(*found));
}

Json value_of(const std::string& field, NamedField::Kind kind, bool is_typed) {
  if (kind == NamedField::Kind::kNone) return nullptr;
  if (is_typed && kind == NamedField::Kind::kText) return field;
  if (kind == NamedField::Kind::kList) return Json::parse(field);
  Json spelt = Json::parse(field, nullptr, false);
  return is_typed || spelt.is_number() ? spelt : Json(field);
}

Json read_metadata(const std::string& metadata) {
  if (metadata.empty()) return Json::object();
  Json object = parse_json(metadata, "metadata");
  SIMILE_CHECK(object.is_object(), ErrorKind::kInput, "metadata: expected a JSON object, found {}",
               describe_json(object));
  for (const auto& [name, value] : object.items()) {
    const Json values = value.is_array() ? value : Json::array({value});
    const bool is_good = std::all_of(values.begin(), values.end(), [](const Json& one) {
      return one.is_string() || one.is_number() || one.is_boolean();
    });
    SIMILE_CHECK(is_good, ErrorKind::kInput,
                 "metadata: expected a text, a number, true or false, or a list of these, for "
                 "'{}', found {}",
                 name, describe_json(value));
  }
  return object;
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
  return matches_all() || root_->matches(detail::read_metadata(metadata));
}

}  // namespace simile
